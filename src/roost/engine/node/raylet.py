"""The process that is a node for its cluster."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from roost.engine.embedded.processes import find_processes


@dataclass(frozen=True, slots=True)
class Raylet:
    """A living raylet and the id it runs under, in hexadecimal."""

    pid: int
    node_id: str


def find_raylet(cluster_id: str) -> Raylet | None:
    """The raylet among the processes of a node."""
    for process in find_processes(cluster_id):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        ids = [word.split("=", 1)[1] for word in words if word.startswith("--node_id=")]
        if words and words[0].endswith("/raylet") and ids:
            return Raylet(process.pid, ids[0])
    return None
