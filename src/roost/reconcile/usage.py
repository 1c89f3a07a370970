"""Asks deployments how much they are used, for no longer than a round may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from roost.serving.state import SERVING, State, Wanted
from roost.serving.usage import Usage

BUDGET_S: Final = 2.0
"""For all questions of one round: everybody else waits meanwhile."""


class UsageAsker:
    """Asks only what runs: a question would wake what is paused.

    Args:
        usage: Asks so many replicas at a route prefix; None when they do not say.
    """

    def __init__(
        self, usage: Callable[[str, int], Usage | None], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._usage = usage
        self._monotonic = monotonic
        self._until = 0.0

    def begin_round(self) -> None:
        """From now on there is a whole budget."""
        self._until = self._monotonic() + BUDGET_S

    def ask(self, wanted: Wanted, state: State) -> Usage | None:
        """How much it is used; None when it does not say, or the time is up."""
        running = sum(replica.state in SERVING for replica in state.replicas)
        if state.phase != "running" or running == 0 or self._monotonic() >= self._until:
            return None
        return self._usage(wanted.application["route_prefix"], running)
