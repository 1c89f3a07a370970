"""PostgreSQL keeps the promises of the records: their unit tests once more, and what it does its own way."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from tests.unit.records import test_events, test_leases, test_models, test_races, test_upgrade

from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy, Unavailable
from roost.keys import ModelKey
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.services.models import Models
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.postgres import PostgresServer

SHARED = (test_events, test_leases, test_models, test_races, test_upgrade)
KEY = ModelKey("yolo", "coco", "imported")
BUNDLE = "a" * 64

for _module in SHARED:
    for _name, _test in vars(_module).items():
        if _name.startswith("test_"):
            assert _name not in globals(), f"two shared tests are called {_name}"
            globals()[_name] = _test


@pytest.fixture
def empty_database(postgres: PostgresServer) -> Iterator[Database]:
    """A database without tables."""
    database = Database(postgres.new_database(), busy_timeout_s=0.2)
    yield database
    database.close()


@pytest.fixture
def database(empty_database: Database) -> Database:
    """A database with the tables of the code."""
    with empty_database.connect_for_writing() as connection:
        METADATA.create_all(connection)
    return empty_database


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


def test_the_registry(database: Database) -> None:
    store = MemoryStore()
    store.put("bundles", BUNDLE, b"zip")
    clock = FakeClock()
    models = Models(database, store, clock)
    token = models.claim(KEY, ClaimRequest(mode="register", writer="ann\0")).token
    assert token is not None
    with pytest.raises(ModelBusy, match="being registered by 'ann'"):
        models.claim(KEY, ClaimRequest(mode="register", writer="bob"))
    assert models.list(phase="uploading").total == 1
    servable = ServableRef(class_path="pkg:Model", kind="serve_app", bundle_fingerprint=BUNDLE)
    saved = models.commit(KEY, token, CommitRequest(servable=servable, config={"a": "ü"}))
    assert models.get(KEY) == saved
    assert (saved.phase, saved.config, saved.created_at) == ("ready", {"a": "ü"}, clock.now())
    assert models.claim(KEY, ClaimRequest(mode="register", writer="bob")).ready == saved
    page = models.list(phase="ready", family="yolo")
    assert (page.items, page.total) == ([saved], 1)
