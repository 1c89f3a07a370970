"""Brings a database to the tables this version needs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from roost.errors import Conflict
from roost.records.database import Database

HEAD: Final = "0003"
"""The newest migration; a test checks it against the migrations."""

MIGRATIONS: Final = Path(__file__).parent / "migrations"


def upgrade(database: Database) -> None:
    """Bring the database to `HEAD`: all of it in one transaction, or nothing.

    It may be called by several servers at once. Of a database that is there already it costs one
    query: Alembic, which takes a second to import, is only loaded when there is something to do.

    Raises:
        Conflict: when a newer version of Roost has written the database.
        Unavailable: when it does not answer.
    """
    with database.read() as session:
        if find_revision(session.connection()) == HEAD:
            return
    with database.connect_for_writing() as connection:
        revision = find_revision(connection)
        if revision == HEAD:
            return
        _refuse_unknown(revision)
        import_module("roost.records.alembic_run").upgrade(connection, MIGRATIONS)


def find_revision(connection: Connection) -> str | None:
    """The migration the database is at; None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def _refuse_unknown(revision: str | None) -> None:
    if revision is not None and revision > HEAD:
        raise Conflict(
            f"The records are at revision {revision!r}, this version of Roost knows up to {HEAD!r}.",
            hint="Install the version of Roost that wrote them, or a newer one.",
        )
