"""One collection at a time, over all servers."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Final

from sqlalchemy.orm import Session

from roost.errors import Conflict, Unavailable
from roost.records.database import Database
from roost.records.leases import find_holder, release_lease, renewed_by, take_lease
from roost.services.clock import Clock

LEASE: Final = "garbage"
LEASE_S: Final = 120.0
"""Other servers take over from one that died after so long."""


class GarbageTurn:
    """Holds the lease of the collection from entering to leaving.

    Args:
        holder: Names this run; unique among all runs.
        stopping: Once it is set, the run ends at its next step.
    """

    def __init__(self, db: Database, clock: Clock, *, holder: str, stopping: threading.Event) -> None:
        self._db = db
        self._clock = clock
        self._holder = holder
        self._stopping = stopping

    def __enter__(self) -> GarbageTurn:
        """Take the lease.

        Raises:
            Conflict: while another run has it; naming the server.
        """
        with self._db.write() as session:
            now = self._clock.now()
            if not take_lease(session, LEASE, self._holder, now=now, lease_s=LEASE_S):
                other = find_holder(session, LEASE, now=now)
                raise Conflict(
                    f"Garbage is being collected already, by server {other!r}.",
                    hint=f"Wait for it to end; a server that died is waited for {LEASE_S:g} s.",
                    retry_after_s=10,
                )
        self._taken_at = now
        return self

    def __exit__(self, *_error: object) -> None:
        """Give the lease back."""
        with self._db.write() as session:
            release_lease(session, LEASE, self._holder)

    def keep(self) -> None:
        """Renew the lease when it is due. Call it every few seconds.

        Raises:
            Conflict: when another run has taken over.
            Unavailable: when the server is stopping.
        """
        if self._stopping.is_set():
            raise Unavailable("The server is stopping; the collection goes on at the next run.")
        if self._clock.now() - self._taken_at >= timedelta(seconds=LEASE_S / 4):
            with self._db.write() as session:
                self.require(session)

    def require(self, session: Session) -> None:
        """Renew the lease in a write session: what that writes is written by the one run there is.

        Raises:
            Conflict: when another run has taken over.
        """
        if not renewed_by(session, LEASE, self._holder):
            raise Conflict(
                "Another server has taken over the collection.",
                hint="This one stood still for too long; nothing is lost.",
            )
        now = self._clock.now()
        take_lease(session, LEASE, self._holder, now=now, lease_s=LEASE_S)
        self._taken_at = now
