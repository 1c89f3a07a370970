"""Events as they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from roost.records.database import Database
from roost.records.events import Happening, add_event, delete_events_before, list_events, list_latest
from roost.records.tables import METADATA
from roost.testing.fake_clock import EPOCH


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/records.db")
    METADATA.create_all(database.engine)
    yield database
    database.close()


def write(db: Database, *subjects: str, first_at_s: float = 0) -> None:
    """One event a second, of each of these."""
    with db.write() as session:
        for index, subject in enumerate(subjects):
            at = EPOCH + timedelta(seconds=first_at_s + index)
            add_event(session, Happening("deployed", subject, f"m{index}"), at)


def ids(db: Database, **which: object) -> list[int]:
    with db.read() as session:
        return [row.id for row in list_events(session, **which)]  # type: ignore[arg-type]


def drop(db: Database, before_s: float, limit: int = 100) -> int:
    with db.write() as session:
        return delete_events_before(session, EPOCH + timedelta(seconds=before_s), limit=limit)


def test_the_last_come_oldest_first(db: Database) -> None:
    write(db, "a", "b", "a", "b", "a")
    assert ids(db) == [1, 2, 3, 4, 5]
    assert ids(db, limit=2) == [4, 5]
    assert ids(db, subject="a", limit=2) == [3, 5]
    assert ids(db, subject="nobody") == []


def test_those_after_an_id_are_the_first_after_it(db: Database) -> None:
    write(db, "a", "b", "a", "b", "a")
    assert ids(db, after_id=0, limit=2) == [1, 2]
    assert ids(db, after_id=2) == [3, 4, 5]
    assert ids(db, after_id=1, subject="a", limit=1) == [3]
    assert ids(db, after_id=5) == []


def test_the_latest_of_one_deployment_come_newest_first(db: Database) -> None:
    write(db, "a", "b", "a", "a")
    with db.read() as session:
        latest = list_latest(session, "a", since=EPOCH + timedelta(seconds=2), limit=10)
        assert [row.id for row in latest] == [4, 3]
        assert [row.id for row in list_latest(session, "a", since=EPOCH, limit=1)] == [4]


def test_the_oldest_are_dropped_first_and_no_more_than_asked(db: Database) -> None:
    write(db, "a", "b", "c", "d", "e")
    assert drop(db, before_s=3, limit=2) == 2
    assert ids(db) == [3, 4, 5]
    assert drop(db, before_s=3, limit=2) == 1
    assert drop(db, before_s=3, limit=2) == 0
    assert ids(db) == [4, 5]


def test_no_id_is_given_twice_even_when_all_is_old(db: Database) -> None:
    write(db, "a", "b", "c")
    assert drop(db, before_s=1_000_000) == 2
    assert ids(db) == [3]
    write(db, "a", first_at_s=2_000_000)
    assert ids(db) == [3, 4]
