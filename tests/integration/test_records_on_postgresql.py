"""PostgreSQL keeps the promises of the records too. The server comes from the system's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy, Unavailable
from roost.keys import ModelKey
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.records.upgrade import upgrade
from roost.services.models import Models
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore

pytest.importorskip("psycopg")
if shutil.which("initdb") is None:
    pytest.skip("PostgreSQL is not installed", allow_module_level=True)

KEY = ModelKey("yolo", "coco", "imported")
BUNDLE = "a" * 64


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a server of our own, on a socket in a folder with a short name."""
    folder = Path(tempfile.mkdtemp(prefix="roost-pg-", dir="/tmp"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "nobody")
        as_user = ["runuser", "-u", "nobody", "--"]

    def run(*command: str) -> None:
        subprocess.run([*as_user, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    data = str(folder / "data")
    run("initdb", "-D", data, "-A", "trust", "-U", "roost", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    run("pg_ctl", "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql://roost@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def database(server: str) -> Iterator[Database]:
    database = Database(server, busy_timeout_s=0.2)
    yield database
    with database.connect_for_writing() as connection:
        METADATA.drop_all(connection)
        connection.execute(text("DROP TABLE IF EXISTS alembic_version"))
    database.close()


def test_servers_that_start_at_once_make_the_tables_once(database: Database, server: str) -> None:
    databases = [Database(server) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upgrade, databases))
    for other in databases:
        other.close()
    with database.read() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_one_writer_at_a_time_and_readers_see_one_moment(database: Database) -> None:
    upgrade(database)
    count = text("SELECT count(*) FROM leases")
    with database.read() as reader:
        assert reader.scalar(count) == 0
        with database.write() as writer:
            writer.execute(text("INSERT INTO leases VALUES ('x', 'me', now())"))
            with pytest.raises(Unavailable, match="locked by another writer"), database.write():
                pass
        assert reader.scalar(count) == 0
    with database.read() as reader:
        assert reader.scalar(count) == 1


def test_writes_that_read_first_lose_nothing(database: Database, server: str) -> None:
    upgrade(database)
    with database.write() as session:
        session.execute(text("INSERT INTO leases VALUES ('counter', '0', now())"))

    def count_up(_: int) -> None:
        own = Database(server)
        for _step in range(20):
            with own.write() as session:
                seen = int(session.scalar(text("SELECT holder FROM leases")) or 0)
                session.execute(text("UPDATE leases SET holder = :next"), {"next": str(seen + 1)})
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count_up, range(4)))
    with database.read() as session:
        assert session.scalar(text("SELECT holder FROM leases")) == "80"


def test_the_registry(database: Database) -> None:
    upgrade(database)
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
