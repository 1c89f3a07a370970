"""A node of this machine in a cluster: at most one of each name in a home, and all of its processes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.engine.embedded.command import log_dir, object_store_size
from roost.engine.embedded.ports import claim_block
from roost.engine.embedded.processes import identify, is_running
from roost.engine.embedded.remains import end_remains, make_run_dir, new_run_dir
from roost.engine.embedded.state import ClusterState, boot_id, write_state
from roost.engine.hardware import Advertised, Cards, advertise, cards_environment
from roost.engine.node.address import ClusterAddress, check_answers, own_ip
from roost.engine.node.command import join_command, join_environment
from roost.engine.node.drain import drain
from roost.engine.node.join import JoinAttempt
from roost.engine.node.raylet import find_raylet
from roost.errors import EngineStartFailed
from roost.storage.node_cache import default_cache_dir

_GRACE_S: Final = 1.0
_TRIES: Final = 3
"""Ray gives its own parts 15 s to start, which is not enough on a machine that is busy."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a node offers a cluster.

    Attributes:
        num_cpus: None for the machine's.
        num_gpus: None for those of `cards`, and what Ray finds where there are none.
        node_ip: Address by which other nodes reach it; None for the one on the way to the cluster.
    """

    name: str
    num_cpus: int | None = None
    num_gpus: int | None = None
    cards: Cards = field(default_factory=Cards)
    node_ip: str | None = None

    @property
    def advertised(self) -> Advertised:
        """What it tells Ray of its cards."""
        return advertise(self.cards, self.num_gpus)


class WorkerNode:
    """Joins, watches and leaves. The caller holds the `NodeLock` of `folder`; not thread-safe.

    Args:
        folder: Of this node alone; `node.json` in it says how to find its processes again.
        environment: More variables for all processes of the node.
        timeout_s: Longest join.
    """

    def __init__(
        self,
        folder: Path,
        offer: Offer,
        *,
        environment: Mapping[str, str] | None = None,
        timeout_s: float = 120.0,
    ) -> None:
        self.offer = offer
        self._folder = folder
        self._added = dict(environment or {})
        self._timeout_s = timeout_s
        self._state_file = folder / "node.json"
        self._state: ClusterState | None = None
        self._cluster: ClusterAddress | None = None
        self._environment: dict[str, str] = {}

    @property
    def state(self) -> ClusterState:
        """Of the node that joined; RuntimeError before that."""
        if self._state is None:
            raise RuntimeError("The node has not joined.")
        return self._state

    @property
    def node_id(self) -> str:
        """Ray's id of the node; empty when its raylet is gone."""
        raylet = find_raylet(self.state.cluster_id)
        return raylet.node_id if raylet else ""

    @property
    def log_dir(self) -> Path:
        """Folder of its logs; goes when it leaves."""
        return log_dir(self.state)

    def join(self, cluster: ClusterAddress, should_abort: Callable[[], bool] = lambda: False) -> None:
        """Join; returns when the cluster lists the node as alive.

        What was left of an earlier one is ended first. Nothing stays behind when this raises; the logs of a
        failure are kept in `failed-join` of the folder.

        Raises:
            EngineUnavailable: nothing answers there, it is no cluster, or it refuses the token.
            EngineStartFailed: other versions of Ray or Python; it took too long, or `should_abort` says so.
        """
        self.end_remains()
        check_answers(cluster)
        ip = self.offer.node_ip or own_ip(cluster)
        claim = claim_block(self._folder)
        deadline = time.monotonic() + self._timeout_s
        try:
            for left in reversed(range(_TRIES)):
                failure = self._join(cluster, ip, claim.block.base, should_abort, deadline)
                if failure is None:
                    return
                if left == 0:
                    raise failure
                self.end_remains()
        except BaseException:
            self.end_remains()
            raise
        finally:
            # What listens in the block from now on keeps others off.
            claim.release()

    def alive(self) -> bool:
        """Whether its raylet lives. Cheap; asks no network."""
        state = self._state
        return state is not None and bool(state.core) and all(is_running(core) for core in state.core)

    def leave(
        self,
        *,
        drain_s: float = 0.0,
        hurry: Callable[[], bool] = lambda: False,
        on_left: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Have replicas moved elsewhere for up to `drain_s` seconds, then end all processes of the node.

        Args:
            on_left: Told how many replicas are here, at first and whenever their number changes.

        Returns:
            How many replicas were still here when it left. Ending takes about 2 s at most.
        """
        left = 0
        if self._state is not None and self._cluster is not None and self.alive():
            left = drain(
                self._state.cluster_id,
                str(self._cluster),
                self._environment,
                timeout_s=drain_s,
                hurry=lambda: hurry() or not self.alive(),
                on_left=on_left,
            )
        self.end_remains()
        return left

    def end_remains(self) -> bool:
        """End what is left of this node, whoever started it; whether there was anything alive."""
        known, self._state = self._state, None
        return end_remains(self._state_file, known, grace_s=_GRACE_S)

    def _join(
        self,
        cluster: ClusterAddress,
        ip: str,
        port_base: int,
        should_abort: Callable[[], bool],
        deadline: float,
    ) -> EngineStartFailed | None:
        """None when it has joined; else what Ray failed at."""
        state = ClusterState(
            cluster_id=uuid.uuid4().hex,
            token=cluster.token,
            boot_id=boot_id(),
            run_dir=str(new_run_dir()),
            port_base=port_base,
            phase="starting",
            host=ip,
        )
        # Written before anything exists, so that a kill at any later moment leaves nothing unknown.
        write_state(self._state_file, state)
        self._state = state
        self._cluster = cluster
        make_run_dir(state)
        self._environment = join_environment(
            state, cards_environment(self.offer.cards), self._added, default_cache_dir() / "bytecode"
        )
        failure = self._attempt(state, cluster).run(should_abort, deadline=deadline)
        if failure is not None:
            return failure
        raylet = find_raylet(state.cluster_id)
        core = identify(raylet.pid) if raylet else None
        if core is None:
            return EngineStartFailed("Ray died just after this node had joined.")
        self._state = state.ready((core,))
        write_state(self._state_file, self._state)
        return None

    def _attempt(self, state: ClusterState, cluster: ClusterAddress) -> JoinAttempt:
        store_bytes, _warning = object_store_size()
        return JoinAttempt(
            state,
            address=str(cluster),
            command=join_command(
                state,
                address=str(cluster),
                name=self.offer.name,
                num_cpus=self.offer.num_cpus,
                advertised=self.offer.advertised,
                object_store_bytes=store_bytes,
            ),
            environment=self._environment,
            kept_logs=self._folder / "failed-join",
        )
