from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, StatementError

from roost.errors import BadRequest, Unavailable
from roost.records.database import Database
from roost.records.leases import LeaseRow
from roost.records.tables import METADATA

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/new/folder/records.db", busy_timeout_s=0.05)
    METADATA.create_all(database.engine)
    yield database
    database.close()


def lease(name: str) -> LeaseRow:
    return LeaseRow(name=name, holder="me", expires_at=NOON)


def names(database: Database) -> list[str]:
    with database.read() as session:
        return list(session.scalars(text("SELECT name FROM leases ORDER BY name")))


def test_a_write_is_kept_and_an_error_undoes_it(database: Database) -> None:
    with database.write() as session:
        session.add(lease("kept"))
    with suppress(KeyError), database.write() as session:
        session.add(lease("undone"))
        session.flush()
        raise KeyError
    assert names(database) == ["kept"]
    with database.write() as session:  # the lock was freed
        session.add(lease("next"))
    assert names(database) == ["kept", "next"]


def test_a_read_session_keeps_nothing(database: Database) -> None:
    with database.read() as session:
        session.add(lease("lost"))
        session.flush()
    assert names(database) == []


def test_a_writer_has_the_lock_at_once_and_another_is_told_to_come_back(database: Database) -> None:
    with database.write():  # nothing is read or written yet
        with pytest.raises(Unavailable, match="locked by another writer") as caught, database.write():
            pass
        assert caught.value.retry_after_s == 1


def test_readers_go_on_while_somebody_writes(database: Database) -> None:
    with database.write() as session:
        session.add(lease("new"))
        session.flush()
        assert names(database) == []
    assert names(database) == ["new"]


def test_many_waiting_writers_leave_connections_to_readers(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/records.db", busy_timeout_s=60)
    METADATA.create_all(database.engine)
    begun = threading.Barrier(81, timeout=60)

    def write(number: int) -> None:
        begun.wait()
        with database.write() as session:
            session.add(lease(f"{number:02}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(80)]
    with database.write():
        for thread in threads:
            thread.start()
        begun.wait()
        assert names(database) == []
    for thread in threads:
        thread.join(timeout=60)
    assert names(database) == [f"{number:02}" for number in range(80)]
    database.close()


def test_a_reader_sees_one_moment(database: Database) -> None:
    count = text("SELECT count(*) FROM leases")
    with database.read() as reader:
        assert reader.scalar(count) == 0
        with database.write() as writer:
            writer.add(lease("new"))
        assert reader.scalar(count) == 0
    with database.read() as reader:
        assert reader.scalar(count) == 1


def test_settings_of_every_connection(database: Database) -> None:
    with database.read() as first, database.read() as second:
        for session in (first, second):
            assert session.scalar(text("PRAGMA journal_mode")) == "wal"
            assert session.scalar(text("PRAGMA foreign_keys")) == 1
            assert session.scalar(text("PRAGMA synchronous")) == 2


def test_our_own_faults_are_not_called_outages(database: Database) -> None:
    with pytest.raises(OperationalError, match="no such table"), database.read() as session:
        session.execute(text("SELECT * FROM no_such_table"))


def test_a_file_that_cannot_be_opened_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "records.db").mkdir()
    with pytest.raises(Unavailable, match="does not answer") as caught:
        names(Database(f"sqlite:///{tmp_path}/records.db"))
    assert caught.value.hint == "Check that it runs and that ROOST_DATABASE_URL is right."


@pytest.mark.parametrize(
    "url", ["", "nonsense", "sqlite://", "sqlite:///:memory:", "mysql://me:secret@host/db", "me:secret@host"]
)
def test_other_databases_are_refused_without_telling_the_password(url: str) -> None:
    database = Database(url)
    with pytest.raises(BadRequest) as caught, database.read():
        pass
    assert "secret" not in str(caught.value)
    assert caught.value.hint == (
        "Write sqlite:////absolute/file.db or postgresql://user:password@host/database."
    )


def test_nothing_is_opened_before_the_first_use(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/folder/records.db")
    database.close()
    assert list(tmp_path.iterdir()) == []


def test_times_come_back_as_the_same_moment_in_utc(database: Database) -> None:
    there = datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    with database.write() as session:
        session.add(LeaseRow(name="a", holder="me", expires_at=there))
    with database.read() as session:
        row = session.get(LeaseRow, "a")
        assert row is not None
        assert row.expires_at == NOON
        assert row.expires_at.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(database: Database) -> None:
    with pytest.raises(StatementError, match="has no time zone"), database.write() as session:
        session.add(LeaseRow(name="a", holder="me", expires_at=datetime(2026, 1, 1)))


def test_a_new_file_that_another_server_is_opening_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "records.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # for this lock SQLite does not wait
    database = Database(f"sqlite:///{path}", busy_timeout_s=60)
    opened = threading.Event()

    def release() -> None:
        opened.wait(0.2)  # by then it has met the lock, mostly
        other.execute("COMMIT")
        other.close()

    thread = threading.Thread(target=release)
    thread.start()
    try:
        with database.read() as session:
            assert session.scalar(text("PRAGMA journal_mode")) == "wal"
    finally:
        opened.set()
        thread.join()
        database.close()
