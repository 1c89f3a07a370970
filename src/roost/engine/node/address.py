"""Where the cluster is that a node is to join."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.engine.embedded.host import LOOPBACK
from roost.engine.embedded.processes import is_running
from roost.engine.embedded.state import boot_id, find_state
from roost.errors import BadRequest, EngineUnavailable
from roost.hosts import is_loopback

_CONNECT_S: Final = 5.0
# How HTTP/2 begins (RFC 9113, 3.4): the client's preface, and an empty SETTINGS frame of either side.
_HELLO: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04" + b"\0" * 5
_FRAME_BYTES: Final = 9
_SETTINGS_FRAME: Final = b"\x04"


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """The control store of a cluster, and the token it asks for ("" for none)."""

    host: str
    port: int
    token: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_address(text: str, token: str = "") -> ClusterAddress:
    """`10.0.0.5:6379`.

    Raises:
        BadRequest: naming the text.
    """
    host, colon, port = text.strip().rpartition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) <= 65535
    if not (colon and host and is_port) or "/" in host or ":" in host:
        raise BadRequest(
            f"address {text!r} is not valid.",
            hint="Write the cluster's control store as HOST:PORT; `ray start` calls it the address.",
        )
    return ClusterAddress(LOOPBACK if host == "localhost" else host, int(port), token)


def find_home_cluster(home: Path) -> ClusterAddress | None:
    """The embedded cluster of `home`; None while it is on its way up.

    Raises:
        EngineUnavailable: there is none.
    """
    state = find_state(home / "ray" / "cluster.json")
    if state is None or state.boot_id != boot_id():
        raise EngineUnavailable(
            f"No embedded cluster runs in {str(home)!r}.",
            hint="Start one with `roost up`, or name another cluster with --address HOST:PORT.",
        )
    if state.phase != "ready" or not all(is_running(core) for core in state.core):
        return None
    return ClusterAddress(state.host, state.ports.gcs, state.token)


def check_answers(cluster: ClusterAddress, timeout_s: float = _CONNECT_S) -> None:
    """Return when a server of gRPC listens there, as a control store is one.

    Raises:
        EngineUnavailable: nothing listens, or something else does.
    """
    try:
        with socket.create_connection((cluster.host, cluster.port), timeout_s) as connection:
            connection.sendall(_HELLO)
            greeting = connection.recv(_FRAME_BYTES)
    except TimeoutError:
        greeting = b""
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise EngineUnavailable(
            f"Nothing answers at {str(cluster)!r} ({why}).",
            hint="Is the cluster up, and the address right? A cluster of `roost up` is out of reach of other "
            "machines, unless it was started with --cluster-host.",
        ) from error
    if greeting[3:4] != _SETTINGS_FRAME:
        raise EngineUnavailable(
            f"What answers at {str(cluster)!r} is not the control store of a Ray cluster.",
            hint="Give the address that `ray start --address` takes, not that of the dashboard or of Serve.",
        )


def own_ip(cluster: ClusterAddress) -> str:
    """This machine's address on the way to the cluster; nothing is sent.

    Raises:
        EngineUnavailable: there is no way to it.
    """
    if is_loopback(cluster.host):
        return LOOPBACK
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((cluster.host, cluster.port))
        except OSError as error:
            raise EngineUnavailable(
                f"There is no way from this machine to {str(cluster)!r} ({error}).",
                hint="Correct --address, or name this machine's own address with --node-ip.",
            ) from error
        found: str = sock.getsockname()[0]
    return found
