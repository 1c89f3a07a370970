"""What of an embedded cluster can be reached from other machines."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.embedded.processes import find_processes
from roost.hosts import is_loopback


@dataclass(frozen=True, slots=True, order=True)
class OpenPort:
    """A TCP listener of one of our processes on an address that is not loopback."""

    port: int
    address: str
    pid: int
    process: str


def open_ports(cluster: EmbeddedCluster) -> list[OpenPort]:
    """All listeners of the cluster that are bound beyond loopback, by port; empty when all is well."""
    found = set()
    for process in find_processes(cluster.state.cluster_id):
        try:
            name = " ".join(process.cmdline()[:1]).split("/")[-1] or process.name()
            connections = process.net_connections("tcp")
        except psutil.Error:
            continue
        for connection in connections:
            if connection.status == psutil.CONN_LISTEN and not is_loopback(connection.laddr.ip):
                found.add(OpenPort(connection.laddr.port, connection.laddr.ip, process.pid, name))
    return sorted(found)
