"""The command and the environment of a `ray start` that joins a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from roost.engine.embedded.command import node_flags, ray_start
from roost.engine.embedded.environment import start_environment
from roost.engine.embedded.state import ClusterState
from roost.engine.hardware import Advertised
from roost.hosts import is_loopback

_LOOPBACK_HOOK = "roost.engine.embedded.start_hook.join_on_loopback"


def join_command(
    state: ClusterState,
    *,
    address: str,
    name: str,
    num_cpus: int | None,
    advertised: Advertised,
    object_store_bytes: int,
) -> list[str]:
    """The command line: `ray start --address`, run by this interpreter, with every port given."""
    flags = {"node-name": name} | node_flags(state, num_cpus, advertised, object_store_bytes)
    return ray_start(f"--address={address}", flags)


def join_environment(
    state: ClusterState, inherited: Mapping[str, str], added: Mapping[str, str], bytecode_dir: Path
) -> dict[str, str]:
    """The environment of all processes of the node. Writes into its run directory."""
    environment = start_environment(state, inherited, added, bytecode_dir)
    if is_loopback(state.host):
        environment["RAY_START_HOOK"] = _LOOPBACK_HOOK
    return environment
