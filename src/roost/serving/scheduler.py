"""Makes room for replicas that wait: which idle models are paused, the fewest of one node.

Models used within the last `SPARED_S` are taken only where others would not do. Then the fewest are taken; of
equally many those whose replicas are all on that node, then those that were not used for the longest.
Nothing is paused where that would not make room, nor where room is on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import combinations
from math import comb
from typing import Final

from roost.contracts.info import NodeInfo
from roost.serving.feasible import label
from roost.serving.occupancy import Amounts, Holder, Waiting
from roost.serving.room import could_fit, fits_now, with_replica
from roost.serving.shortage import BESIDE, in_the_way, shortage

SPARED_S: Final = 60.0

_MOST_SETS: Final = 2000
"""Sets of models that are tried exactly; where there are more of one size, the longest unused are taken."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows for one waiting deployment.

    Attributes:
        victims: Models to pause for it.
        message: Why it waits; empty when there is room and it only has not started yet.
        in_place: Stop its own old replicas first.
        stuck: Nothing that is done or under way gives it room.
    """

    victims: tuple[str, ...] = ()
    message: str = ""
    in_place: bool = False
    stuck: bool = False


@dataclass(slots=True)
class _Place:
    """A node with what will be free of it, and who is on it."""

    node: NodeInfo
    freed: dict[str, float]
    holders: list[Holder] = field(default_factory=list)

    def fits(self, item: Waiting, victims: Iterable[Holder] = ()) -> bool:
        return fits_now(item.options, self.node, self._freed_with(victims))

    def free(self, victims: Iterable[Holder]) -> None:
        self.freed = self._freed_with(victims)

    def _freed_with(self, victims: Iterable[Holder]) -> dict[str, float]:
        freed = dict(self.freed)
        for victim in victims:
            for name, amount in victim.share(self.node.node_id).items():
                freed[name] = freed.get(name, 0.0) + amount
        return freed


def make_room(
    waiting: Sequence[Waiting],
    nodes: Sequence[NodeInfo],
    holders: Sequence[Holder],
    leaving: Mapping[str, Amounts],
    now: datetime,
) -> dict[str, Decision]:
    """Decide for each waiting deployment, in the given order.

    Args:
        holders: All deployments with replicas on nodes; those with an obstacle are not paused.
        leaving: By node id, what comes back without anything being done.
    """
    places = {node.node_id: _Place(node, dict(leaving.get(node.node_id, {}))) for node in nodes if node.alive}
    for holder in holders:
        for node_id in holder.nodes:
            if node_id in places:
                places[node_id].holders.append(holder)
    return {item.key: _decide(item, list(places.values()), now) for item in waiting}


def _decide(item: Waiting, places: Sequence[_Place], now: datetime) -> Decision:
    if item.beside and item.rollout == "in_place" and not any(place.fits(item) for place in places):
        return Decision(in_place=True)
    victims: list[str] = []
    made_on = ""
    for _ in range(item.replicas):
        place = _with_room(item, places)
        if place is None:
            place, chosen = _cheapest(item, places, now)
            if place is None:
                return Decision(tuple(victims), _stuck(item, places), stuck=True)
            victims += [holder.key for holder in chosen]
            _pause(chosen, places)
        if not fits_now(item.options, place.node):
            made_on = label(place.node)
        place.node = with_replica(place.node, item.options)
    message = shortage(item.options, _nodes(places), made_on=made_on) if made_on else ""
    return Decision(tuple(victims), message)


def _with_room(item: Waiting, places: Sequence[_Place]) -> _Place | None:
    """Where there is room now; else where it is on its way."""
    there = (place for place in places if fits_now(item.options, place.node))
    coming = (place for place in places if place.fits(item))
    return next(there, None) or next(coming, None)


def _pause(chosen: Sequence[Holder], places: Sequence[_Place]) -> None:
    for place in places:
        gone = [holder for holder in place.holders if holder in chosen]
        place.free(gone)
        place.holders = [holder for holder in place.holders if holder not in chosen]


_Cost = tuple[int, int, int, tuple[datetime, ...]]


def _cheapest(
    item: Waiting, places: Sequence[_Place], now: datetime
) -> tuple[_Place, tuple[Holder, ...]] | tuple[None, tuple[()]]:
    """The node where making room costs least, and who is paused there."""
    best: tuple[_Cost, _Place, tuple[Holder, ...]] | None = None
    for place in places:
        chosen = _choose(item, place, now) if could_fit(item.options, place.node) else None
        if chosen is not None and (best is None or _cost(chosen, now) < best[0]):
            best = _cost(chosen, now), place, chosen
    return (None, ()) if best is None else best[1:]


def _choose(item: Waiting, place: _Place, now: datetime) -> tuple[Holder, ...] | None:
    """Who is paused on this node; None when nobody there would make room."""
    free_to_pause = [holder for holder in place.holders if not holder.obstacle]
    spared = [holder for holder in free_to_pause if _is_spared(holder, now)]
    for candidates in ([each for each in free_to_pause if each not in spared], free_to_pause):
        if place.fits(item, candidates):
            return _fewest(item, place, sorted(candidates, key=lambda each: each.used_at), now)
    return None


def _fewest(item: Waiting, place: _Place, candidates: list[Holder], now: datetime) -> tuple[Holder, ...]:
    """Of `candidates`, which make room all together and are given the longest unused first."""
    for size in range(1, len(candidates) + 1):
        if comb(len(candidates), size) > _MOST_SETS:
            break
        fitting = [chosen for chosen in combinations(candidates, size) if place.fits(item, chosen)]
        if fitting:
            return min(fitting, key=lambda chosen: _cost(chosen, now))
    return _without_needless(item, place, candidates)


def _without_needless(item: Waiting, place: _Place, candidates: list[Holder]) -> tuple[Holder, ...]:
    chosen = list(candidates)
    for holder in reversed(candidates):
        left = [each for each in chosen if each is not holder]
        if place.fits(item, left):
            chosen = left
    return tuple(chosen)


def _cost(chosen: Sequence[Holder], now: datetime) -> _Cost:
    spared = sum(_is_spared(holder, now) for holder in chosen)
    spread = sum(len(holder.nodes) > 1 for holder in chosen)
    return spared, len(chosen), spread, tuple(sorted((holder.used_at for holder in chosen), reverse=True))


def _is_spared(holder: Holder, now: datetime) -> bool:
    return now - holder.used_at < timedelta(seconds=SPARED_S)


def _stuck(item: Waiting, places: Sequence[_Place]) -> str:
    possible = [place for place in places if could_fit(item.options, place.node)]
    holders = {holder.key: holder for place in possible for holder in place.holders}
    text = shortage(item.options, _nodes(places)) + in_the_way(list(holders.values()))
    return f"{text} {BESIDE}" if item.beside else text


def _nodes(places: Sequence[_Place]) -> list[NodeInfo]:
    return [place.node for place in places]
