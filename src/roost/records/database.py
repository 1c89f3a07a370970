"""The connection to the records: one engine, short sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.orm import Session, sessionmaker

BUSY_TIMEOUT_MS = 10_000


class Database:
    """Records in SQLite or PostgreSQL.

    Args:
        url: A SQLAlchemy URL, such as `sqlite:////home/me/.roost/roost.db`.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _create_engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session for reading. Do no I/O while it is open."""
        with self._sessions() as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that commits on success and rolls back on an error.

        On SQLite it takes the write lock at once, so that what was read stays true until the commit.
        """
        with self._sessions() as session, session.begin():
            if self.engine.dialect.name == "sqlite":
                session.connection().exec_driver_sql("BEGIN IMMEDIATE")
            yield session

    def close(self) -> None:
        """Close all pooled connections."""
        self.engine.dispose()


def _create_engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        # Transactions are begun by us (BEGIN IMMEDIATE), not by the driver's own rules.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    return engine
