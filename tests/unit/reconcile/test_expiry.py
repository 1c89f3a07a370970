"""Events are kept for 30 days, and go in small batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from roost.reconcile.expiry import BATCH, BETWEEN_BATCHES_S, LEASE, PERIOD_S, Expiry
from roost.records.database import Database
from roost.records.events import EventRow, Happening, add_event
from roost.records.leases import release_lease, take_lease
from roost.records.tables import METADATA
from roost.testing.fake_clock import FakeClock

DAY_S = 86_400


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/records.db")
    METADATA.create_all(database.engine)
    yield database
    database.close()


def write(db: Database, clock: FakeClock, count: int) -> None:
    with db.write() as session:
        for _ in range(count):
            add_event(session, Happening("phase", "f/s/r", ""), clock.now())


def count(db: Database) -> int:
    with db.read() as session:
        return session.scalar(select(func.count()).select_from(EventRow)) or 0


def test_what_is_thirty_days_old_stays_and_a_second_later_goes(db: Database) -> None:
    clock = FakeClock()
    expiry = Expiry(db, clock, holder="one")
    write(db, clock, 3)
    clock.advance(DAY_S)
    write(db, clock, 2)
    clock.advance(29 * DAY_S)
    assert expiry.cycle() == PERIOD_S
    assert count(db) == 5
    clock.advance(1)
    assert expiry.cycle() == PERIOD_S
    assert count(db) == 2


def test_many_go_batch_by_batch(db: Database) -> None:
    clock = FakeClock()
    expiry = Expiry(db, clock, holder="one")
    write(db, clock, 2 * BATCH + 1)
    clock.advance(31 * DAY_S)
    write(db, clock, 1)
    assert [expiry.cycle() for _ in range(3)] == [BETWEEN_BATCHES_S, BETWEEN_BATCHES_S, PERIOD_S]
    assert count(db) == 1


def test_of_two_servers_one_deletes(db: Database) -> None:
    clock = FakeClock()
    write(db, clock, 1)
    clock.advance(31 * DAY_S)
    write(db, clock, 1)
    with db.write() as session:
        take_lease(session, LEASE, "other", now=clock.now(), lease_s=6)
    expiry = Expiry(db, clock, holder="one")
    assert expiry.cycle() == PERIOD_S
    assert count(db) == 2
    with db.write() as session:
        release_lease(session, LEASE, "other")
    clock.advance(timedelta(hours=1).total_seconds())
    expiry.cycle()
    assert count(db) == 1
