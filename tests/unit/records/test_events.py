"""Events as they are kept."""

from __future__ import annotations

from datetime import timedelta

from roost.records.database import Database
from roost.records.events import Happening, add_event, delete_events_before, list_events, list_since
from roost.testing.fake_clock import EPOCH


def write(database: Database, *subjects: str, first_at_s: float = 0) -> None:
    """One event a second, of each of these."""
    with database.write() as session:
        for index, subject in enumerate(subjects):
            at = EPOCH + timedelta(seconds=first_at_s + index)
            add_event(session, Happening("deployed", subject, f"m{index}"), at)


def ids(database: Database, **which: object) -> list[int]:
    with database.read() as session:
        return [row.id for row in list_events(session, **which)]  # type: ignore[arg-type]


def drop(database: Database, before_s: float, limit: int = 100) -> int:
    with database.write() as session:
        return delete_events_before(session, EPOCH + timedelta(seconds=before_s), limit=limit)


def test_the_last_come_oldest_first(database: Database) -> None:
    write(database, "a", "b", "a", "b", "a")
    assert ids(database) == [1, 2, 3, 4, 5]
    assert ids(database, limit=2) == [4, 5]
    assert ids(database, subject="a", limit=2) == [3, 5]
    assert ids(database, subject="nobody") == []


def test_those_after_an_id_are_the_first_after_it(database: Database) -> None:
    write(database, "a", "b", "a", "b", "a")
    assert ids(database, after_id=0, limit=2) == [1, 2]
    assert ids(database, after_id=2) == [3, 4, 5]
    assert ids(database, after_id=1, subject="a", limit=1) == [3]
    assert ids(database, after_id=5) == []


def test_those_of_some_deployments_since_a_moment_come_newest_first(database: Database) -> None:
    write(database, "a", "b", "a", "c", "a")
    many = ["a", "c", *(f"absent{number}" for number in range(1000))]
    with database.read() as session:
        assert [row.id for row in list_since(session, many, EPOCH + timedelta(seconds=2))] == [5, 4, 3]
        assert list_since(session, [], EPOCH) == []


def test_the_oldest_are_dropped_first_and_no_more_than_asked(database: Database) -> None:
    write(database, "a", "b", "c", "d", "e")
    assert drop(database, before_s=3, limit=2) == 2
    assert ids(database) == [3, 4, 5]
    assert drop(database, before_s=3, limit=2) == 1
    assert drop(database, before_s=3, limit=2) == 0
    assert ids(database) == [4, 5]


def test_no_id_is_given_twice_even_when_all_is_old(database: Database) -> None:
    write(database, "a", "b", "c")
    assert drop(database, before_s=1_000_000) == 2
    assert ids(database) == [3]
    write(database, "a", first_at_s=2_000_000)
    assert ids(database) == [3, 4]
