from __future__ import annotations

from datetime import UTC, datetime, timedelta

from roost.records.database import Database
from roost.records.leases import find_holder, release_lease, take_lease

START = datetime(2026, 1, 1, tzinfo=UTC)


def take(database: Database, holder: str, at_s: float) -> bool:
    with database.write() as session:
        return take_lease(session, "reconciler", holder, now=START + timedelta(seconds=at_s), lease_s=8)


def holder(database: Database, at_s: float) -> str | None:
    with database.read() as session:
        return find_holder(session, "reconciler", now=START + timedelta(seconds=at_s))


def test_one_holder_at_a_time(database: Database) -> None:
    assert holder(database, 0) is None
    assert take(database, "first", 0)
    assert not take(database, "second", 1)
    assert holder(database, 1) == "first"


def test_renewing_keeps_it(database: Database) -> None:
    assert take(database, "first", 0)
    assert take(database, "first", 6)
    assert not take(database, "second", 13)
    assert holder(database, 13) == "first"


def test_it_is_taken_over_once_it_has_run_out(database: Database) -> None:
    assert take(database, "first", 0)
    assert holder(database, 8) is None
    assert take(database, "second", 8)
    assert not take(database, "first", 9)
    assert holder(database, 9) == "second"


def test_giving_it_back_frees_it_at_once(database: Database) -> None:
    assert take(database, "first", 0)
    with database.write() as session:
        release_lease(session, "reconciler", "second")  # not its own: nothing happens
    assert holder(database, 1) == "first"
    with database.write() as session:
        release_lease(session, "reconciler", "first")
    assert holder(database, 1) is None
    assert take(database, "second", 1)
