"""Which of a node's cards have room: Ray keeps each share of a GPU on one card, whole GPUs on empty ones.

Ray does not say which card an actor has. It takes the fullest card that has room, one actor after the other;
here that is done again, largest first. Where actors came and went, theirs may lie otherwise: a replica that
waits though it has room by this count is then short of a card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from roost.contracts.info import NodeInfo

UNITS: Final = 10_000
"""Ray counts resources in 1/10000."""

GPU: Final = "GPU"


def units(amount: float) -> int:
    """An amount of a resource as Ray counts it."""
    return round(amount * UNITS)


def has_room(node: NodeInfo, gpus: float, freed: float = 0.0) -> bool:
    """Whether the node's cards have room for a replica with `gpus`, were `freed` GPUs given back.

    Where the actors' shares are not known, only the sum of them, the answer holds however they lie: a share
    fits when it would beside the most even spread, whole cards when no GPU is used at all.
    """
    wanted, given = units(gpus), units(freed)
    if wanted == 0:
        return True
    count = int(node.resources.get(GPU, 0.0))
    used = units(node.used.get(GPU, 0.0))
    shares = sorted((units(share) for share in node.used_gpu_shares), reverse=True)
    if sum(shares) != used:
        left = max(0, used - given)
        return left == 0 and wanted <= count * UNITS if wanted >= UNITS else left <= count * (UNITS - wanted)
    cards = _pack(shares, count)
    for index in _freed(shares, given):
        cards.give_back(index)
    return cards.has(wanted)


@dataclass(slots=True)
class _Cards:
    """Units free on each card, and what was taken from which card for each share."""

    free: list[int]
    taken: list[list[tuple[int, int]]]

    def has(self, wanted: int) -> bool:
        if wanted >= UNITS:
            return self.free.count(UNITS) * UNITS >= wanted
        return any(free >= wanted for free in self.free)

    def take(self, wanted: int) -> None:
        """As Ray does. What has no room, for other actors have left since, is taken where most is free."""
        taken = []
        left = wanted
        while left > 0 and any(self.free):
            step = min(left, UNITS)
            fitting = [free for free in self.free if free >= step]
            card = self.free.index(min(fitting) if fitting else max(self.free))
            step = min(step, self.free[card])
            self.free[card] -= step
            taken.append((card, step))
            left -= step
        self.taken.append(taken)

    def give_back(self, index: int) -> None:
        for card, amount in self.taken[index]:
            self.free[card] += amount


def _pack(shares: Sequence[int], count: int) -> _Cards:
    cards = _Cards([UNITS] * count, [])
    for share in shares:
        cards.take(share)
    return cards


def _freed(shares: Sequence[int], given: int) -> Sequence[int]:
    """The shares that make up `given`: one of the sets that do; where none does, what comes nearest below."""
    sets: dict[int, tuple[int, ...]] = {0: ()}
    for index, share in enumerate(shares):
        for total, chosen in list(sets.items()):
            if total + share <= given:
                sets.setdefault(total + share, (*chosen, index))
    return sets[max(sets)]
