"""The records on each database they can stand on: what several writers do at once must end the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.records.database import Database
from roost.records.upgrade import upgrade
from roost.testing.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with the tables of the migrations."""
    url = f"sqlite:///{tmp_path}/records.db"
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        url = postgres.new_database()
    database = Database(url, busy_timeout_s=60)
    upgrade(database)
    yield database
    database.close()
