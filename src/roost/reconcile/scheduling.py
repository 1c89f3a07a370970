"""What follows from room and use: who is paused, who is told to wait, who is updated in place."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from roost.reconcile.idle import IdleLimit
from roost.reconcile.room import Cluster, Pairs, Room
from roost.reconcile.usage import UsageAsker
from roost.serving.state import State
from roost.serving.usage import Usage


class Scheduling:
    """Part of each round of the reconciler; asks nobody when nothing waits and no idle limit is due.

    Args:
        cluster: Asked for room when a replica waits for it.
        usage: How much so many replicas at a route prefix are used; None when they do not say.
    """

    def __init__(
        self,
        cluster: Cluster,
        usage: Callable[[str, int], Usage | None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asker = UsageAsker(usage, monotonic)
        self._idle = IdleLimit(self._asker, monotonic)
        self._room = Room(cluster, self._asker, monotonic)

    def decide(self, pairs: Pairs, now: datetime) -> dict[str, State]:
        """The states that are to be others than what was seen, by key."""
        self._asker.begin_round()
        return {**self._idle.pause(pairs.values(), now), **self._room.make(pairs, now)}
