"""Runs inside `ray start`, before anything is started; named by RAY_START_HOOK. Imports nothing of Ray's."""

from __future__ import annotations

import sys
from typing import Any


def keep_lean(ray_params: Any, head: bool) -> None:  # noqa: ARG001 - Ray's signature
    """Leave out what a cluster without an autoscaler and without `ray://` clients never uses.

    Saves two processes and about five seconds of CPU time; `ray start` has no flag for it.
    """
    ray_params.ray_client_server_port = None
    ray_params.no_monitor = True


def join_on_loopback(ray_params: Any, head: bool) -> None:
    """Let a second node of this machine join a cluster that is kept to loopback.

    Ray's switch for that (see `environment.py`) forbids a second node, although it works; without the switch
    this `ray start` would look for the cluster at the machine's outer address.
    """
    keep_lean(ray_params, head)
    sys.modules["ray._private.ray_constants"].__dict__["ENABLE_RAY_CLUSTER"] = True
    sys.modules["ray._private.services"].__dict__["resolve_ip_for_localhost"] = lambda host: host
