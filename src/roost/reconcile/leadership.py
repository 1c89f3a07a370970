"""Of several servers, the one whose loop may act."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

from roost.errors import RoostError
from roost.reconcile.put import ServeEngine
from roost.records.database import Database
from roost.records.leases import find_expiry, find_holder, release_lease, renewed_by, take_lease
from roost.services.clock import Clock

_log = logging.getLogger("roost.reconcile")

LEASE_S: Final = 6.0
RENEW_AFTER_S: Final = 2.0


class LeaseLost(Exception):
    """Another server leads now: the round under way ends at once. Never leaves the loop."""


class Leadership:
    """Takes and keeps one lease; of use to one thread at a time.

    Args:
        name: What the lease is for.
        holder: Names this server; unique among the servers of one database.
    """

    def __init__(self, db: Database, clock: Clock, *, name: str, holder: str) -> None:
        self.holder = holder
        self._db = db
        self._clock = clock
        self._name = name
        self._taken_at: datetime | None = None

    def hold(self) -> bool:
        """Take or renew the lease; whether it is ours. While it is fresh this costs nothing."""
        now = self._clock.now()
        if self._is_fresh(now):
            return True
        with self._db.write() as session:
            ours = take_lease(session, self._name, self.holder, now=now, lease_s=LEASE_S)
        self._taken_at = now if ours else None
        return ours

    def require(self) -> None:
        """Renew it in the middle of a round; LeaseLost when another had it since, if only for a moment.

        What was read under the lease before then may be older than what the other has done.
        """
        now = self._clock.now()
        if self._is_fresh(now):
            return
        with self._db.write() as session:
            self.check(session)
            take_lease(session, self._name, self.holder, now=now, lease_s=LEASE_S)
        self._taken_at = now

    def check(self, session: Session) -> None:
        """LeaseLost when another has taken it; in a write session the answer holds until the commit."""
        if not renewed_by(session, self._name, self.holder):
            self._taken_at = None
            raise LeaseLost

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the lease from another thread meanwhile: for a step that may outlast it."""
        done = threading.Event()
        thread = threading.Thread(target=self._keep, args=(done,), name="roost-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def find_leader(self) -> str | None:
        """Who holds the lease now."""
        with self._db.read() as session:
            return find_holder(session, self._name, now=self._clock.now())

    def find_renewal(self) -> datetime | None:
        """When the lease was last taken or renewed by whoever holds it."""
        with self._db.read() as session:
            expiry = find_expiry(session, self._name)
        return expiry - timedelta(seconds=LEASE_S) if expiry is not None else None

    def release(self) -> None:
        """Let another server take it at once."""
        if self._taken_at is None:
            return
        self._taken_at = None
        with self._db.write() as session:
            release_lease(session, self._name, self.holder)

    def _is_fresh(self, now: datetime) -> bool:
        return self._taken_at is not None and now - self._taken_at < timedelta(seconds=RENEW_AFTER_S)

    def _keep(self, done: threading.Event) -> None:
        while not done.wait(RENEW_AFTER_S):
            try:
                self.require()
            except LeaseLost:
                return
            except RoostError as error:
                _log.warning("The lease was not renewed; it is tried again: %s", error)


class LedEngine:
    """An engine that takes PUTs from the leader only, and keeps it the leader until Ray has answered.

    A PUT that starts Serve takes half a minute, and a Ray that hangs is only noticed by a time-out: else
    servers would take the lease from each other in turn, and none would come to write what it saw.
    Should the lease be lost all the same (this machine stood still, the records were away), the next PUT of
    the same round is not made.
    """

    def __init__(self, engine: ServeEngine, leadership: Leadership) -> None:
        self._engine = engine
        self._leadership = leadership

    def get(self) -> dict[str, Any]:
        """The details of all applications."""
        with self._leadership.kept():
            return self._engine.get()

    def put(self, body: dict[str, Any]) -> None:
        """Replace the whole set of applications.

        Raises:
            LeaseLost: when another server leads, before or after.
        """
        self._leadership.require()
        with self._leadership.kept():
            self._engine.put(body)
        self._leadership.require()
