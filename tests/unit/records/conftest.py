"""The records' tests run on SQLite here, and once more on PostgreSQL in tests/integration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.records.database import Database
from roost.records.tables import METADATA


@pytest.fixture
def empty_database(tmp_path: Path) -> Iterator[Database]:
    """A database without tables."""
    database = Database(f"sqlite:///{tmp_path}/records.db")
    yield database
    database.close()


@pytest.fixture
def database(empty_database: Database) -> Database:
    """A database with the tables of the code."""
    METADATA.create_all(empty_database.engine)
    return empty_database
