"""One run of `roost node`, from its options to its end."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from roost.engine.embedded.host import check_host
from roost.engine.hardware import fake_cards, measure_cards
from roost.engine.node.address import ClusterAddress, find_home_cluster, parse_address
from roost.engine.node.lock import NodeLock, check_node_name
from roost.engine.node.service import NodeService
from roost.engine.node.worker import Offer, WorkerNode
from roost.engine.token import find_token

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """The options of `roost node`; None where none was given.

    Attributes:
        home: Where the node keeps what it must remember; its cluster is the default one to join.
    """

    home: Path
    address: str | None = None
    token: str | None = None
    name: str | None = None
    num_cpus: int | None = None
    num_gpus: int | None = None
    fake_gpus: tuple[str, ...] = ()
    node_ip: str | None = None
    drain_s: float = 60.0
    timeout_s: float = 120.0


def run_node(
    options: NodeOptions, say: Callable[[str], None], on_joined: Callable[[dict[str, Any]], None]
) -> None:
    """Join and stay until SIGINT, SIGTERM or SIGHUP; a second one ends the draining.

    Args:
        say: Told what happens.
        on_joined: Told once, when it has joined, what JSON would show.

    Raises:
        BadRequest: for an option that is not valid.
        Conflict: a node of this name runs in this home.
        EngineUnavailable, EngineStartFailed: it could not join.
    """
    offer = _offer(options)
    find_cluster = _finder(options)
    folder = options.home / "nodes" / offer.name
    lock = NodeLock(folder, offer.name)
    lock.take()
    try:
        say("; ".join((f"Cards: {offer.cards}", *offer.cards.notes)))
        node = WorkerNode(folder, offer, timeout_s=options.timeout_s)
        service = NodeService(node, find_cluster, say, drain_s=options.drain_s)
        with _signals(service):
            service.run(lambda cluster: on_joined(_joined(node, cluster)))
    finally:
        lock.release()


def _offer(options: NodeOptions) -> Offer:
    if options.node_ip is not None:
        check_host(options.node_ip, flag="--node-ip")
    return Offer(
        name=check_node_name(socket.gethostname() if options.name is None else options.name),
        num_cpus=options.num_cpus,
        num_gpus=options.num_gpus,
        cards=fake_cards(options.fake_gpus) if options.fake_gpus else measure_cards(),
        node_ip=options.node_ip,
    )


def _finder(options: NodeOptions) -> Callable[[], ClusterAddress | None]:
    if options.address is not None:
        named = parse_address(options.address, find_token(options.token) or "")
        return lambda: named

    def find() -> ClusterAddress | None:
        found = find_home_cluster(options.home)
        if found is None or options.token is None:
            return found
        return ClusterAddress(found.host, found.port, options.token)

    return find


def _joined(node: WorkerNode, cluster: ClusterAddress) -> dict[str, Any]:
    advertised = node.offer.advertised
    return {
        "name": node.offer.name,
        "nodeId": node.node_id,
        "nodeIp": node.state.host,
        "address": str(cluster),
        "numCpus": node.offer.num_cpus,
        "numGpus": advertised.num_gpus,
        "labels": advertised.labels,
        "resources": advertised.resources,
        "cards": list(node.offer.cards.names),
        "advertised": str(advertised),
        "logDir": str(node.log_dir),
        "pid": os.getpid(),
    }


@contextmanager
def _signals(service: NodeService) -> Iterator[None]:
    def handle(*_: object) -> None:
        if service.leave.is_set():
            service.hurry.set()
        service.leave.set()

    before = {each: signal.signal(each, handle) for each in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
