"""PostgreSQL keeps the promises of the records: the unit tests of records and services once more, and what it
does its own way.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from tests.unit.records import test_events, test_leases, test_models, test_races, test_trash, test_upgrade
from tests.unit.services import test_deployments, test_model_changes
from tests.unit.services import test_events as test_service_events
from tests.unit.services import test_models as test_service_models

from roost.errors import Unavailable
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.records.upgrade import upgrade
from roost.testing.postgres import PostgresServer

RECORDS = (test_events, test_leases, test_models, test_races, test_trash, test_upgrade)
SERVICES = (test_deployments, test_model_changes, test_service_events, test_service_models)
FIXTURES = ("place", "registry", "room", "server")

for _module in RECORDS + SERVICES:
    for _name, _value in vars(_module).items():
        if _name.startswith(("test_", "Test")) or _name in FIXTURES:
            assert _name not in globals(), f"two shared tests or fixtures are called {_name}"
            globals()[_name] = _value


@pytest.fixture
def empty_database(postgres: PostgresServer) -> Iterator[Database]:
    """A database without tables."""
    database = Database(postgres.new_database(), busy_timeout_s=0.2)
    yield database
    database.close()


@pytest.fixture(scope="module")
def upgraded(postgres: PostgresServer) -> str:
    """One database for all tests that want tables: making one for each would take most of the time."""
    url = postgres.new_database()
    database = Database(url)
    upgrade(database)
    database.close()
    return url


@pytest.fixture
def database(upgraded: str) -> Iterator[Database]:
    """A database with the tables of the migrations, all of them empty."""
    database = Database(upgraded, busy_timeout_s=0.2)
    with database.write() as session:
        session.execute(text(f"TRUNCATE {', '.join(METADATA.tables)} RESTART IDENTITY"))
    yield database
    database.close()


@pytest.fixture
def records_url(database: Database) -> str:
    """Where an `InProcessServer` is to keep its records."""
    return database.url


def test_one_writer_at_a_time_and_readers_see_one_moment(database: Database) -> None:
    count = text("SELECT count(*) FROM leases")
    with database.read() as reader:
        assert reader.scalar(count) == 0
        with database.write() as writer:
            writer.execute(text("INSERT INTO leases VALUES ('x', 'me', now())"))
            other = Database(database.url, busy_timeout_s=0.2)
            with pytest.raises(Unavailable, match="locked by another writer"), other.write():
                pass
            other.close()
        assert reader.scalar(count) == 0
    with database.read() as reader:
        assert reader.scalar(count) == 1


def test_writes_that_read_first_lose_nothing(database: Database) -> None:
    with database.write() as session:
        session.execute(text("INSERT INTO leases VALUES ('counter', '0', now())"))

    def count_up(_: int) -> None:
        own = Database(database.url)
        for _step in range(20):
            with own.write() as session:
                seen = int(session.scalar(text("SELECT holder FROM leases")) or 0)
                session.execute(text("UPDATE leases SET holder = :next"), {"next": str(seen + 1)})
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count_up, range(4)))
    with database.read() as session:
        assert session.scalar(text("SELECT holder FROM leases")) == "80"


def test_connections_that_the_server_ended_are_replaced(database: Database) -> None:
    with database.read() as session:
        session.execute(text("SELECT 1"))
    other = Database(database.url)
    with other.write() as session:
        backends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        session.execute(text(f"{backends} AND pid <> pg_backend_pid()"))
    other.close()
    with database.read() as session:
        assert session.scalar(text("SELECT count(*) FROM leases")) == 0
