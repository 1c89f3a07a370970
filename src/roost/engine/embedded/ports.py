"""Ports of an embedded cluster: one block per cluster, so that two on one machine never meet."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from roost.errors import EngineStartFailed

FIRST_PORT: Final = 20_000
BLOCK_SIZE: Final = 500
BLOCKS: Final = 25
# All blocks end below 32768, where Linux begins to give out ports for outgoing connections.


@dataclass(frozen=True, slots=True)
class PortBlock:
    """Every port of one cluster: `BLOCK_SIZE` ports from `base` on. Ranges are inclusive."""

    base: int

    @property
    def gcs(self) -> int:
        """Ray's control store."""
        return self.base

    @property
    def dashboard(self) -> int:
        """Ray's dashboard and REST API."""
        return self.base + 1

    @property
    def serve(self) -> int:
        """Serve's HTTP ingress: where deployments answer."""
        return self.base + 2

    def inner(self, index: int) -> int:
        """Port `index` (0 to 39) of those that only Ray's own processes use."""
        if not 0 <= index < 40:
            raise ValueError(f"index={index!r} is not valid: it must be from 0 to 39.")
        return self.base + 10 + index

    @property
    def replica_http(self) -> tuple[int, int]:
        """Where replicas listen for HTTP themselves."""
        return self.base + 50, self.base + 149

    @property
    def replica_grpc(self) -> tuple[int, int]:
        """Where replicas would listen for gRPC."""
        return self.base + 150, self.base + 199

    @property
    def workers(self) -> tuple[int, int]:
        """Where worker processes listen for each other."""
        return self.base + 200, self.base + BLOCK_SIZE - 1


class BlockClaim:
    """This process's claim on a block while it starts a cluster there; the kernel frees it on death."""

    def __init__(self, block: PortBlock, sock: socket.socket) -> None:
        self.block = block
        self._socket = sock

    def release(self) -> None:
        """Let other servers have the block; what listens in it keeps them off anyway."""
        self._socket.close()


def claim_block(home: Path, listening: Collection[int] | None = None) -> BlockClaim:
    """Claim a block in which nothing listens, preferably the one this home had before.

    So URLs of deployments stay the same over restarts.

    Args:
        listening: TCP ports that are in use; by default those of this machine.

    Raises:
        EngineStartFailed: when every block is in use.
    """
    used = listening_ports() if listening is None else listening
    first = int.from_bytes(hashlib.sha256(str(home.absolute()).encode()).digest()[:4]) % BLOCKS
    for step in range(BLOCKS):
        block = PortBlock(FIRST_PORT + (first + step) % BLOCKS * BLOCK_SIZE)
        if any(block.base <= port < block.base + BLOCK_SIZE for port in used):
            continue
        claim = _claim(block)
        if claim is not None:
            return claim
    raise EngineStartFailed(
        f"Something listens in each of the {BLOCKS} blocks of {BLOCK_SIZE} ports from {FIRST_PORT} on.",
        hint="End what listens there (`ss -ltnp` lists it), or use an existing Ray cluster.",
    )


def listening_ports() -> set[int]:
    """All TCP ports of this machine that something listens on."""
    return {
        connection.laddr.port
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr
    }


def _claim(block: PortBlock) -> BlockClaim | None:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # An abstract name: seen by the whole machine, and no file is left behind.
        sock.bind(f"\0roost-ports-{block.base}")
    except OSError:
        sock.close()
        return None
    return BlockClaim(block, sock)
