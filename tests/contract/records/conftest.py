"""The records on each database they can stand on: what several writers do at once must end the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.records.database import Database
from roost.records.upgrade import upgrade
from roost.testing.postgres import PostgresServer

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(params=DATABASES)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/records.db"
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return postgres.new_database()


@pytest.fixture
def records(empty_url: str) -> Iterator[Database]:
    """A database with the tables of the migrations."""
    database = Database(empty_url, busy_timeout_s=60)
    upgrade(database)
    yield database
    database.close()
