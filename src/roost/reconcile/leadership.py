"""Of several servers, the one whose loop may act."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from roost.records.database import Database
from roost.records.leases import release_lease, take_lease
from roost.services.clock import Clock

LEASE_S: Final = 6.0
RENEW_AFTER_S: Final = 2.0


class Leadership:
    """Takes and keeps one lease. Not for use from several threads.

    Args:
        name: What the lease is for.
        holder: Names this server; unique among the servers of one database.
    """

    def __init__(self, db: Database, clock: Clock, *, name: str, holder: str) -> None:
        self._db = db
        self._clock = clock
        self._name = name
        self._holder = holder
        self._taken_at: datetime | None = None

    def hold(self) -> bool:
        """Take or renew the lease; whether it is ours. While it is fresh this costs nothing."""
        now = self._clock.now()
        if self._taken_at is not None and now - self._taken_at < timedelta(seconds=RENEW_AFTER_S):
            return True
        with self._db.write() as session:
            ours = take_lease(session, self._name, self._holder, now=now, lease_s=LEASE_S)
        self._taken_at = now if ours else None
        return ours

    def release(self) -> None:
        """Let another server take it at once."""
        if self._taken_at is None:
            return
        self._taken_at = None
        with self._db.write() as session:
            release_lease(session, self._name, self._holder)
