"""What unit tests share: records on SQLite, and the real services in this process.

Tests of records and services run once more on PostgreSQL: tests/integration/test_records_on_postgresql.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.records.database import Database
from roost.records.tables import METADATA
from roost.testing.in_process import URL, InProcessServer


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


@pytest.fixture
def records_url() -> str | None:
    """Where an `InProcessServer` is to keep its records; None is in its folder."""
    return None


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcessServer]:
    server = InProcessServer(tmp_path)
    monkeypatch.setenv("ROOST_URL", URL)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("roost.sdk.connection._client", lambda url, key: server.client(api_key=key))
    yield server
    server.close()
