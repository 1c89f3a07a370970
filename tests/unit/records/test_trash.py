"""What lies in the trash, in the records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from roost.records.database import Database
from roost.records.trash import (
    count_emptyings,
    forget_trash,
    note_emptying,
    note_moved,
    note_moving,
    read_trash,
    settle_moves,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def test_a_move_is_noted_before_and_after(database: Database) -> None:
    with database.write() as session:
        note_moving(session, [("a", 1), ("b", 2**40), ("c", 0)])
        assert read_trash(session) == {}
        note_moved(session, ["a", "b"], NOON)
    with database.read() as session:
        assert read_trash(session) == {"a": NOON, "b": NOON}
    with database.write() as session:
        settle_moves(session, LATER)
        assert read_trash(session) == {"a": NOON, "b": NOON, "c": LATER}
        forget_trash(session, ["a", "c", "unknown"])
        assert read_trash(session) == {"b": NOON}


def test_what_is_moved_again_is_new(database: Database) -> None:
    with database.write() as session:
        note_moving(session, [("a", 1)])
        note_moved(session, ["a"], NOON)
        note_moving(session, [("a", 1)])
        assert read_trash(session) == {}
        note_moved(session, ["a"], LATER)
        assert read_trash(session) == {"a": LATER}


def test_thousands_at_once(database: Database) -> None:
    paths = [f"chunks/{number}" for number in range(1201)]
    with database.write() as session:
        note_moving(session, [(path, 1) for path in paths])
        note_moved(session, paths, NOON)
        assert len(read_trash(session)) == 1201
        forget_trash(session, paths)
        assert read_trash(session) == {}


def test_emptyings_are_counted(database: Database) -> None:
    with database.write() as session:
        assert count_emptyings(session) == 0
        note_emptying(session)
        assert count_emptyings(session) == 1
    with database.write() as session:
        note_emptying(session)
    with database.read() as session:
        assert count_emptyings(session) == 2
