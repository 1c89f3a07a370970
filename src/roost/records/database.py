"""The connection to the records: one engine, short sessions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from sqlite3 import Connection as SQLiteConnection
from sqlite3 import Cursor as SQLiteCursor
from sqlite3 import OperationalError as SQLiteOperationalError
from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from roost.errors import BadRequest, Unavailable

BUSY_TIMEOUT_S: Final = 10.0
"""How long a writer waits for the others before it is told to come back."""

_BUSY_POLL_S: Final = 0.01
_MAX_READERS: Final = 50  # more than the threads of a server
_WRITES: Final = "roost_writes"
_PG_WRITE_LOCK: Final = 0x726F6F7374  # "roost"


class Database:
    """Records in SQLite or PostgreSQL.

    On both, one write transaction runs at a time, over all processes, so what it reads stays true
    until it commits. Readers see one moment of the records, wait for nobody and hold up nobody.

    Args:
        url: A SQLAlchemy URL, such as `sqlite:////home/me/.roost/roost.db`. The folder of a
            SQLite file is made when it is missing.
        busy_timeout_s: How long a writer waits for other writers.

    Nothing is opened before the first use.
    """

    def __init__(self, url: str, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.url = url
        self._busy_timeout_s = busy_timeout_s
        # Writers of this process wait here, without a connection, so that readers always find one.
        self._writing = threading.Lock()

    @cached_property
    def engine(self) -> Engine:
        """The connections.

        Raises:
            BadRequest: for another kind of database, or a driver that is not installed.
        """
        return _create_engine(_checked(self.url), self._busy_timeout_s)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that reads one moment of the records. Do no other I/O while it is open.

        Raises:
            Unavailable: when the database does not answer.
        """
        with _outages(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that commits on success and rolls back on an error. It has the write lock at once.

        Raises:
            Unavailable: when the database does not answer, or other writers keep the lock.
        """
        with (
            self._turn(),
            _outages(),
            Session(self.engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            session.connection(execution_options={_WRITES: True})
            yield session

    @contextmanager
    def connect_for_writing(self) -> Iterator[Connection]:
        """As `write`, for statements without a session: the migrations."""
        with self._turn(), _outages(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all pooled connections."""
        if "engine" in self.__dict__:
            self.engine.dispose()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=self._busy_timeout_s):
            raise _locked()
        try:
            yield
        finally:
            self._writing.release()


def _checked(text: str) -> URL:
    hint = "Write sqlite:////absolute/file.db or postgresql://user:password@host/database."
    try:
        url = make_url(text)
    except ArgumentError as error:
        # The text is not shown: it may hold a password.
        raise BadRequest("The database URL of the records is not valid.", hint=hint) from error
    shown = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "postgresql":
        if find_spec("psycopg") is None:
            raise BadRequest(
                f"The database {shown!r} needs a driver that is not installed.",
                hint="pip install 'roost[postgres]'",
            )
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        raise BadRequest(f"The database {shown!r} cannot hold the records.", hint=hint)
    return url


def _create_engine(url: URL, busy_timeout_s: float) -> Engine:
    if url.get_backend_name() == "postgresql":
        engine = create_engine(url, pool_pre_ping=True)
        event.listen(engine, "begin", partial(_begin_on_postgresql, busy_timeout_s))
        return engine
    assert url.database
    Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        url,
        connect_args={"check_same_thread": False, "timeout": busy_timeout_s},
        max_overflow=_MAX_READERS,
    )
    event.listen(engine, "connect", partial(_configure_sqlite, busy_timeout_s))
    event.listen(engine, "begin", _begin_on_sqlite)
    return engine


def _configure_sqlite(busy_timeout_s: float, connection: SQLiteConnection, _record: object) -> None:
    # The driver begins no transactions of its own; `_begin_on_sqlite` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    _use_wal(cursor, busy_timeout_s)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _use_wal(cursor: SQLiteCursor, busy_timeout_s: float) -> None:
    """Several servers may open a new file at once, and SQLite does not wait for the lock that this needs."""
    deadline = time.monotonic() + busy_timeout_s
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except SQLiteOperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_BUSY_POLL_S)
        else:
            return


def _begin_on_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")


def _begin_on_postgresql(busy_timeout_s: float, connection: Connection) -> None:
    if connection.get_execution_options().get(_WRITES, False):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(busy_timeout_s * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_PG_WRITE_LOCK})")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


@contextmanager
def _outages() -> Iterator[None]:
    """Say of a database that is locked or gone that it is; faults of ours pass unchanged."""
    try:
        yield
    except PoolTimeout as error:
        raise Unavailable("All connections to the records are in use.", retry_after_s=1) from error
    except OperationalError as error:
        if "locked" in str(error.orig) or "lock timeout" in str(error.orig):
            raise _locked() from error
        if error.connection_invalidated or error.statement is None:
            raise Unavailable(
                "The database of the records does not answer.",
                hint="Check that it runs and that ROOST_DATABASE_URL is right.",
                retry_after_s=5,
            ) from error
        raise


def _locked() -> Unavailable:
    return Unavailable(
        "The records are locked by another writer.",
        hint="Try again; if it stays so, look for a process that holds the database open.",
        retry_after_s=1,
    )
