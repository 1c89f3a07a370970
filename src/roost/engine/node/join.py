"""One attempt of a node to join a cluster, watched from outside."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from roost.engine.embedded.command import log_dir
from roost.engine.embedded.failure import keep_logs, start_failed
from roost.engine.embedded.launch import launch
from roost.engine.embedded.state import ClusterState
from roost.engine.node.raylet import find_raylet
from roost.engine.node.refusal import find_refusal
from roost.errors import EngineStartFailed, RoostError

_POLL_S: Final = 0.1
_LOOK_EVERY_S: Final = 1.0
_SAID_BYTES: Final = 256 * 1024


class JoinAttempt:
    """Runs a joining `ray start`, which ends when the cluster lists the node as alive.

    Args:
        address: Of the cluster, for messages.
        kept_logs: Where the logs go when it fails.
    """

    def __init__(
        self,
        state: ClusterState,
        *,
        address: str,
        command: list[str],
        environment: dict[str, str],
        kept_logs: Path,
    ) -> None:
        self._state = state
        self._address = address
        self._command = command
        self._environment = environment
        self._kept_logs = kept_logs
        self._had_raylet = False
        self._said = Path(state.run_dir) / "start.log"

    def run(self, should_abort: Callable[[], bool], *, deadline: float) -> EngineStartFailed | None:
        """None when the node is listed; else what Ray failed at, which another attempt may not.

        The caller ends the processes when it is not listed.

        Args:
            deadline: By the monotonic clock.

        Raises:
            EngineUnavailable: wrong token, or a cluster without a head node.
            EngineStartFailed: other versions; the deadline has passed, or `should_abort` says so.
        """
        ray = launch(self._command, self._environment, Path(self._state.run_dir))
        next_look = time.monotonic() + _LOOK_EVERY_S
        try:
            while not _ended(ray):
                if should_abort():
                    raise EngineStartFailed("Joining was interrupted.")
                if refusal := self._refusal():
                    raise refusal
                if time.monotonic() > deadline:
                    raise self._failed(f"This node did not join {self._address!r} in time.")
                if time.monotonic() > next_look:
                    next_look = time.monotonic() + _LOOK_EVERY_S
                    if self._raylet_died():
                        return self._failed("raylet of Ray died while it was starting.", ["raylet"])
        finally:
            if ray.poll() is None:
                ray.kill()
            ray.wait()
        if ray.returncode == 0:
            return None
        if refusal := self._refusal():
            raise refusal
        return self._failed(f"`ray start` ended with exit code {ray.returncode}.")

    def _refusal(self) -> RoostError | None:
        with self._said.open("rb") as file:
            return find_refusal(file.read(_SAID_BYTES).decode(errors="replace"), self._address)

    def _raylet_died(self) -> bool:
        """Ray itself would only notice after half a minute."""
        lives = find_raylet(self._state.cluster_id) is not None
        self._had_raylet = self._had_raylet or lives
        return self._had_raylet and not lives

    def _failed(self, what: str, dead: Sequence[str] = ()) -> EngineStartFailed:
        keep_logs(self._said, log_dir(self._state), self._kept_logs)
        return start_failed(what, self._kept_logs, dead)


def _ended(ray: subprocess.Popen[bytes]) -> bool:
    try:
        ray.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return False
    return True
