"""Runs inside `ray start`, before anything is started; named by RAY_START_HOOK. Imports nothing of Ray's."""

from __future__ import annotations

import sys
from typing import Any

_RAYLET = "raylet"


def prepare(ray_params: Any, head: bool) -> None:  # noqa: ARG001 - Ray's signature
    """What every node of ours needs and `ray start` has no flag for.

    What a cluster without an autoscaler and without `ray://` clients never uses is left out, which saves two
    processes and about five seconds of CPU time. The raylet is told its dashboard agent's port: Ray 2.60
    does not, so that the raylet waits for the agent, and dies when it takes more than 15 s on a busy machine.
    """
    ray_params.ray_client_server_port = None
    ray_params.no_monitor = True
    services = _module("services")
    start = services["start_ray_process"]

    def start_process(command: list[str], process_type: str, *more: Any, **named: Any) -> Any:
        if process_type == _RAYLET:
            command = [*command, f"--dashboard_agent_listen_port={ray_params.dashboard_agent_listen_port}"]
        return start(command, process_type, *more, **named)

    services["start_ray_process"] = start_process


def prepare_on_loopback(ray_params: Any, head: bool) -> None:
    """`prepare` for a second node of this machine in a cluster that is kept to loopback.

    Ray's switch for that (see `environment.py`) forbids a second node, although it works; without the switch
    this `ray start` would look for the cluster at the machine's outer address.
    """
    prepare(ray_params, head)
    _module("ray_constants")["ENABLE_RAY_CLUSTER"] = True
    _module("services")["resolve_ip_for_localhost"] = lambda host: host


def _module(name: str) -> dict[str, Any]:
    return sys.modules[f"ray._private.{name}"].__dict__
