"""Finds replicas that wait for room and makes it: by pausing idle models, or an update's own old replicas."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol

from roost.contracts.info import NodeInfo
from roost.errors import RoostError
from roost.reconcile.usage import UsageAsker
from roost.serving.occupancy import Holder, Waiting, asked, holder, leaving, unplaced, waiting
from roost.serving.room import could_fit
from roost.serving.scheduler import Decision, make_room
from roost.serving.state import State, Wanted, paused
from roost.serving.transition import IN_PLACE

_log = logging.getLogger("roost.reconcile")

WAITS_AFTER_S: Final = 1.0
"""A replica that has had no node for less is taken to be starting."""

LOOK_EVERY_S: Final = 1.0

_MOST_ASKED: Final = 100
"""Models that are asked in one round, the longest unused first."""

Pairs = Mapping[str, tuple[Wanted, State]]


class Cluster(Protocol):
    """What is asked of Ray when something waits. Both raise RoostError when it does not answer."""

    def list_nodes(self) -> Sequence[NodeInfo]:
        """The nodes, with what actors hold of them."""
        ...

    def unplaced_replicas(self) -> set[str]:
        """Ids of replicas without a node."""
        ...


class Room:
    """Remembers since when replicas wait; asks Ray only while some do, at most once a second."""

    def __init__(
        self, cluster: Cluster, asker: UsageAsker, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._cluster = cluster
        self._asker = asker
        self._monotonic = monotonic
        self._since: dict[str, float] = {}
        self._looked_at = float("-inf")
        self._messages: dict[str, str] = {}

    def make(self, pairs: Pairs, now: datetime) -> dict[str, State]:
        """The states that change, by key: of those that wait, and of those that are paused for them."""
        moment = self._monotonic()
        ids = {each.replica_id for _, state in pairs.values() for each in unplaced(state)}
        self._since = {name: self._since.get(name, moment) for name in ids}
        due = {name for name, since in self._since.items() if moment - since >= WAITS_AFTER_S}
        if not due:
            self._messages = {}
            return {}
        changed: dict[str, State] = {}
        if moment - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = moment
            changed = self._look(due, pairs, now)
        for key, message in self._messages.items():
            if key in pairs and unplaced(pairs[key][1]):
                changed[key] = replace(changed.get(key, pairs[key][1]), message=message)
        return changed

    def _look(self, due: set[str], pairs: Pairs, now: datetime) -> dict[str, State]:
        try:
            waits = self._waits(due & self._cluster.unplaced_replicas(), pairs)
            nodes = self._cluster.list_nodes() if waits else ()
        except RoostError as error:
            _log.warning("Ray does not say which nodes have room: %s", error)
            return {}
        holders: dict[str, Holder] = {}
        coming = leaving(pairs.values())
        decisions = make_room(waits, nodes, (), coming, now)
        if any(decision.stuck for decision in decisions.values()):
            # Nobody is asked whether it is idle before it is known that a pause is needed.
            holders = self._holders(waits, nodes, pairs, now)
            decisions = make_room(waits, nodes, list(holders.values()), coming, now)
        self._messages = {
            key: decision.message
            for key, decision in decisions.items()
            # One that is replaced in place says why there is a gap.
            if decision.stuck or (decision.message and not pairs[key][1].in_place)
        }
        return _followed(decisions, holders, pairs)

    def _waits(self, without_node: set[str], pairs: Pairs) -> list[Waiting]:
        """The longest waiting first."""
        found = []
        for wanted, state in pairs.values():
            names = [each.replica_id for each in unplaced(state) if each.replica_id in without_node]
            if names and wanted.present:
                found.append((min(self._since[name] for name in names), waiting(wanted, state, len(names))))
        return [item for _, item in sorted(found, key=lambda each: each[0])]

    def _holders(
        self, waits: Sequence[Waiting], nodes: Sequence[NodeInfo], pairs: Pairs, now: datetime
    ) -> dict[str, Holder]:
        """Who holds room where something waits for it; those that may be paused are asked about their use."""
        places = {node.node_id for node in nodes if any(could_fit(item.options, node) for item in waits)}
        own = {item.key for item in waits}
        found = [
            holder(wanted, state)
            for wanted, state in pairs.values()
            if wanted.present and state.pause != "paused" and wanted.key not in own
        ]
        found = sorted(
            (each for each in found if not places.isdisjoint(each.nodes)), key=lambda each: each.used_at
        )
        self._asker.begin_round()
        candidates = [each.key for each in found if not each.obstacle][:_MOST_ASKED]
        return {
            each.key: asked(each, self._asker.ask(*pairs[each.key]), now) if each.key in candidates else each
            for each in found
            if each.obstacle or each.key in candidates
        }


def _followed(
    decisions: Mapping[str, Decision], holders: Mapping[str, Holder], pairs: Pairs
) -> dict[str, State]:
    """The states as they are decided."""
    result = {}
    for key, decision in decisions.items():
        for victim in decision.victims:
            why = f"Paused to make room for {key}; the next request wakes it."
            result[victim] = paused(pairs[victim][1], why, holders[victim].used_at)
        if decision.in_place:
            result[key] = replace(pairs[key][1], in_place=True, message=IN_PLACE)
    return result
