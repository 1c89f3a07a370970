"""Drops events when their time is over."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from roost.reconcile.leadership import Leadership
from roost.reconcile.loop import Loop
from roost.records.database import Database
from roost.records.events import delete_events_before
from roost.services.clock import Clock

LEASE: Final = "expiry"
KEPT: Final = timedelta(days=30)

BATCH: Final = 500
"""Events dropped in one transaction: other writers wait no longer than that takes."""

PERIOD_S: Final = 3600.0
BETWEEN_BATCHES_S: Final = 0.2
RETRY_S: Final = 60.0


class Expiry:
    """Runs in a thread of its own; of several servers, one at a time deletes.

    Args:
        holder: Names this server among the servers of one database.
    """

    def __init__(self, db: Database, clock: Clock, *, holder: str) -> None:
        self._db = db
        self._clock = clock
        self._leadership = Leadership(db, clock, name=LEASE, holder=holder)
        self._loop = Loop(self.cycle, name="roost-expiry", retry_s=RETRY_S)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End after the present batch and give the lease back."""
        if self._loop.stop(timeout_s):
            self._leadership.release()

    def cycle(self) -> float:
        """Drop one batch of what is older than 30 days. Returns the seconds until the next."""
        if not self._leadership.hold():
            return PERIOD_S
        with self._db.write() as session:
            dropped = delete_events_before(session, self._clock.now() - KEPT, limit=BATCH)
        return BETWEEN_BATCHES_S if dropped == BATCH else PERIOD_S
