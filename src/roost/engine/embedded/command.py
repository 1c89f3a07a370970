"""The command of `ray start`: of an embedded cluster, and what a joining node has in common with it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil

from roost.engine.embedded.host import LOOPBACK
from roost.engine.embedded.state import ClusterState
from roost.engine.hardware import Advertised

_MIB: Final = 1024**2
_STORE_MIN: Final = 100 * _MIB
_STORE_MAX: Final = 1024 * _MIB


def start_command(
    state: ClusterState, *, num_cpus: int | None, advertised: Advertised, object_store_bytes: int
) -> list[str]:
    """The command line: `ray start --head`, run by this interpreter, with every port given."""
    ports = state.ports
    flags = {
        "port": ports.gcs,
        # On loopback also when other machines join: their nodes do not need it, and our server is here.
        "dashboard-host": LOOPBACK,
        "dashboard-port": ports.dashboard,
        # Said explicitly, so that a dashboard that does not come up fails the start.
        "include-dashboard": "true",
    }
    return ray_start("--head", flags | node_flags(state, num_cpus, advertised, object_store_bytes))


def node_flags(
    state: ClusterState, num_cpus: int | None, advertised: Advertised, object_store_bytes: int
) -> dict[str, object]:
    """The flags of every node, by name: its address, ports, files and what it offers; None is not given."""
    ports = state.ports
    labels = ",".join(f"{name}={value}" for name, value in advertised.labels.items())
    return {
        "node-ip-address": state.host,
        "node-manager-port": ports.inner(0),
        "object-manager-port": ports.inner(1),
        "dashboard-agent-listen-port": ports.inner(2),
        "dashboard-agent-grpc-port": ports.inner(3),
        "runtime-env-agent-port": ports.inner(4),
        "metrics-export-port": ports.inner(5),
        "ray-client-server-port": ports.inner(6),
        "min-worker-port": ports.workers[0],
        "max-worker-port": ports.workers[1],
        "temp-dir": ray_dir(state),
        "include-log-monitor": "false",
        "object-store-memory": object_store_bytes,
        "num-cpus": num_cpus,
        "num-gpus": advertised.num_gpus,
        "resources": json.dumps(advertised.resources) if advertised.resources else None,
        "labels": labels or None,
    }


def ray_start(role: str, flags: Mapping[str, object]) -> list[str]:
    """`ray start` with these flags, run by this interpreter."""
    run = "from ray.scripts.scripts import main; main()"
    given = [f"--{name}={value}" for name, value in flags.items() if value is not None]
    return [sys.executable, "-c", run, "start", role, "--disable-usage-stats", "--log-style=record", *given]


def ray_dir(state: ClusterState) -> Path:
    """Ray's temp-dir."""
    return Path(state.run_dir) / "r"


def log_dir(state: ClusterState) -> Path:
    """Ray's logs."""
    return ray_dir(state) / "session_latest" / "logs"


def object_store_size() -> tuple[int, str | None]:
    """Bytes for Ray's object store, and a warning when shared memory is short.

    Requests do not pass through it, so a tenth of the free memory is plenty.
    """
    wanted = max(_STORE_MIN, min(_STORE_MAX, psutil.virtual_memory().available // 10))
    try:
        free = shutil.disk_usage("/dev/shm").free  # noqa: S108 - where Ray puts it
    except OSError:
        free = 0
    if free * 0.8 >= wanted:
        return wanted, None
    if free * 0.8 >= _STORE_MIN:
        return int(free * 0.8), None
    return _STORE_MIN, (
        f"Only {free // _MIB} MiB of /dev/shm are free; Ray keeps its objects on disk, which is slower. "
        "In a container, raise --shm-size to 256m or more."
    )
