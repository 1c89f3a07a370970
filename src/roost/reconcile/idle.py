"""Pauses deployments that were not asked for as long as their `idle_timeout_s` allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from roost.reconcile.usage import UsageAsker
from roost.serving.occupancy import last_used
from roost.serving.state import State, Wanted, paused

SOONEST_S: Final = 0.5
AGAIN_S: Final = 5.0
"""At most, after a question that was not answered; else it is asked again when its time may be up."""


class IdleLimit:
    """Remembers when each deployment is to be asked next."""

    def __init__(self, asker: UsageAsker, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._asker = asker
        self._monotonic = monotonic
        self._due: dict[tuple[str, int], float] = {}

    def pause(self, pairs: Iterable[tuple[Wanted, State]], now: datetime) -> dict[str, State]:
        """The new states of those whose time is up, by key."""
        result = {}
        due: dict[tuple[str, int], float] = {}
        moment = self._monotonic()
        for wanted, state in pairs:
            limit_s = wanted.idle_timeout_s
            if limit_s is None or wanted.pinned or state.pause or state.phase != "running":
                continue
            known = wanted.key, wanted.generation
            used_s = (now - last_used(state)).total_seconds()
            due[known] = self._due.get(known, moment + max(SOONEST_S, limit_s - used_s))
            if moment < due[known]:
                continue
            idle_s, wait_s = self._ask(wanted, state, limit_s, used_s)
            due[known] = moment + wait_s
            if idle_s >= limit_s:
                why = f"Paused after {limit_s:g} s without a request; the next one wakes it."
                result[wanted.key] = paused(state, why, now - timedelta(seconds=idle_s))
        self._due = due
        return result

    def _ask(self, wanted: Wanted, state: State, limit_s: float, used_s: float) -> tuple[float, float]:
        """For how long it was idle, and after how long its time may be up."""
        usage = self._asker.ask(wanted, state)
        if usage is None:
            return 0.0, max(SOONEST_S, min(AGAIN_S, limit_s / 4))
        idle_s = 0.0 if usage.in_flight else min(usage.idle_s, used_s)
        return idle_s, max(SOONEST_S, limit_s - idle_s)
