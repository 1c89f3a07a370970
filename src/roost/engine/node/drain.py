"""Moves replicas off a node before it leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

import psutil

from roost.engine.embedded.processes import find_processes
from roost.engine.node.raylet import find_raylet

_POLL_S: Final = 0.2
_REPLICA: Final = "ray::ServeReplica:"
_MESSAGE: Final = "roost node leaves"
_PREEMPTED: Final = 2
"""Ray's reason that is accepted of a busy node, too; Serve starts replacements before it stops replicas."""

# The dashboard may be out of reach from here, and `ray drain-node` takes three times as long to load.
_CALL: Final = """
import sys, time
from ray._raylet import GcsClient
address, node_id, timeout_s, reason, message = sys.argv[1:]
deadline_ms = int((time.time() + float(timeout_s)) * 1000)
accepted, why = GcsClient(address=address).drain_node(node_id, int(reason), message, deadline_ms)
sys.exit(0 if accepted else str(why))
"""


def count_replicas(cluster_id: str) -> int:
    """Replicas of Serve among the processes of a node."""
    return sum(_title(process).startswith(_REPLICA) for process in find_processes(cluster_id))


def drain(
    cluster_id: str,
    address: str,
    environment: Mapping[str, str],
    *,
    timeout_s: float,
    hurry: Callable[[], bool],
    on_left: Callable[[int], None],
) -> int:
    """Have Ray move the replicas of this node elsewhere; how many are still here at the end.

    Ends early when none is left, when `hurry` says so, or when Ray cannot be asked.

    Args:
        timeout_s: Told to Ray, too: replicas for which there is no room elsewhere are stopped in time.
        on_left: Told how many are here, at first and whenever their number changes.
    """
    left = count_replicas(cluster_id)
    on_left(left)
    raylet = find_raylet(cluster_id)
    if not left or raylet is None or timeout_s <= 0:
        return left
    deadline = time.monotonic() + timeout_s
    words = [address, raylet.node_id, str(timeout_s), str(_PREEMPTED), _MESSAGE]
    call = subprocess.Popen(
        [sys.executable, "-c", _CALL, *words],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while left and not hurry() and time.monotonic() < deadline and call.poll() in (None, 0):
            time.sleep(_POLL_S)
            before, left = left, count_replicas(cluster_id)
            if left != before:
                on_left(left)
    finally:
        if call.poll() is None:
            call.kill()
        call.wait()
    return left


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()[:1])
    except psutil.Error:
        return ""
