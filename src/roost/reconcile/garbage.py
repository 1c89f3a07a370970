"""Collects garbage once an hour."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from roost.errors import Conflict
from roost.reconcile.loop import Loop
from roost.services.garbage import Garbage

_log = logging.getLogger("roost.garbage")

FIRST_S: Final = 600.0
"""After the start: a server that has just started has more urgent work."""

PERIOD_S: Final = 3600.0
RETRY_S: Final = 300.0


class GarbageLoop:
    """Runs in a thread of its own; of several servers, the leader collects.

    Args:
        leads: Whether this server leads now.
    """

    def __init__(self, garbage: Garbage, *, leads: Callable[[], bool]) -> None:
        self._garbage = garbage
        self._leads = leads
        self._is_first = True
        self._loop = Loop(self.cycle, name="roost-garbage", retry_s=RETRY_S)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End at the next step of the collection under way, which the next server finishes."""
        self._garbage.close()
        self._loop.stop(timeout_s)

    def cycle(self) -> float:
        """One collection, unless it is too early. Returns the seconds until the next."""
        if self._is_first:
            self._is_first = False
            return FIRST_S
        if self._leads():
            try:
                self._garbage.collect()
            except Conflict as error:
                _log.info("%s", error.message)
        return PERIOD_S
