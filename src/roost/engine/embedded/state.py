"""What a home remembers of its embedded cluster, so that a killed server's Ray can be found again."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Literal

from roost.engine.embedded.host import LOOPBACK
from roost.engine.embedded.ports import PortBlock


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that cannot be mistaken for a later one with the same pid."""

    pid: int
    started_at: float


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One cluster of ours, or one node that joined a cluster.

    Attributes:
        token: The cluster's; empty where it has none.
        host: Address of the node.
        cluster_id: Value of ROOST_CLUSTER_ID in the environment of all its processes.
        boot_id: Of the machine's kernel; after a reboot none of the processes can be alive.
        run_dir: Sockets and logs; a short path, since socket paths are limited to 107 characters.
        made_with: What it was started with; a cluster that differs is not adopted.
        core: Processes without which it is dead; empty until it serves.
    """

    cluster_id: str
    token: str
    boot_id: str
    run_dir: str
    port_base: int
    phase: Literal["starting", "ready"]
    made_with: dict[str, str] = field(default_factory=dict)
    core: tuple[ProcessId, ...] = ()
    host: str = LOOPBACK

    @property
    def ports(self) -> PortBlock:
        """Its ports."""
        return PortBlock(self.port_base)

    def ready(self, core: tuple[ProcessId, ...]) -> ClusterState:
        """The same cluster, now serving."""
        return replace(self, phase="ready", core=core)


def write_state(path: Path, state: ClusterState) -> None:
    """Write `path` for the owner only; a kill at any moment leaves the old file or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f"{path.name}.new")
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(state), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)


def find_state(path: Path) -> ClusterState | None:
    """What was written last; None when there is nothing, or nothing that this version can read."""
    try:
        raw = json.loads(path.read_bytes())
        core = tuple(ProcessId(**process) for process in raw.pop("core"))
        if set(raw) | {"core"} != {item.name for item in fields(ClusterState)}:
            return None
        return ClusterState(**raw, core=core)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def boot_id() -> str:
    """Names this run of the machine's kernel; empty where it cannot be read."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
