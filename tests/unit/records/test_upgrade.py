from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, inspect, text

from roost.errors import Conflict
from roost.records.alembic_run import alembic_config
from roost.records.database import Database
from roost.records.deployments import list_deployments
from roost.records.tables import METADATA
from roost.records.upgrade import HEAD, MIGRATIONS, find_revision, upgrade


def test_head_is_the_newest_migration() -> None:
    assert ScriptDirectory.from_config(alembic_config(MIGRATIONS)).get_current_head() == HEAD


def test_migrations_lead_to_the_tables_of_the_code(empty_database: Database) -> None:
    upgrade(empty_database)
    with empty_database.read() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
        assert set(inspect(session.connection()).get_table_names()) == {
            "alembic_version",
            "claims",
            "deployments",
            "emptyings",
            "events",
            "leases",
            "models",
            "trash",
        }


def test_indexes_of_the_code_are_all_there(empty_database: Database) -> None:
    # compare_metadata looks at names; this looks at the columns as well.
    upgrade(empty_database)
    inspector = inspect(empty_database.engine)
    for table in METADATA.tables.values():
        made = {
            index["name"]: index["column_names"]
            for index in inspector.get_indexes(table.name)
            if "duplicates_constraint" not in index  # PostgreSQL lists those of unique constraints, too
        }
        wanted = {index.name: [column.name for column in index.columns] for index in table.indexes}
        assert made == wanted


def test_deployments_of_the_first_revision_are_kept(empty_database: Database) -> None:
    config = alembic_config(MIGRATIONS)
    with empty_database.connect_for_writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        assert find_revision(connection) == "0001"
        known = {
            **dict.fromkeys(("family", "suffix", "run_name", "name", "live_name", "bundle_fingerprint"), "f"),
            **dict.fromkeys(("config_fingerprint", "replaced_bundle_fingerprint", "message"), ""),
            **dict.fromkeys(("failures", "restarts", "observed_generation"), 0),
            **dict.fromkeys(("created_at", "deployed_at"), datetime(2026, 1, 1, tzinfo=UTC)),
            "key": "f/f/f",
            "generation": 3,
            "num_replicas": 2,
            "version": 9,
            "timeout_s": 60.5,
            "config": '{"a": "1"}',
            "application": "{}",
            "replicas": "[]",
            "present": True,
            "stale": False,
            "step": "apply",
            "phase": "running",
            "ray_status": "RUNNING",
        }
        names, values = ", ".join(known), ", ".join(f":{name}" for name in known)
        connection.execute(text(f"INSERT INTO deployments ({names}) VALUES ({values})"), known)
    upgrade(empty_database)
    with empty_database.read() as session:
        (row,) = list_deployments(session)
    assert (row.key, row.generation, row.version, row.num_replicas) == ("f/f/f", 3, 9, 2)
    assert (row.config, row.phase, row.deployed_at) == (
        {"a": "1"},
        "running",
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert (row.rollout, row.pinned, row.pause, row.in_place) == ("wait", False, "", False)
    assert (row.requirements, row.autoscaling, row.idle_timeout_s, row.used_at) == ({}, None, None, None)


def test_upgrading_again_writes_nothing(empty_database: Database) -> None:
    upgrade(empty_database)
    statements: list[str] = []
    event.listen(empty_database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    upgrade(empty_database)
    assert statements[-1] == "SELECT version_num FROM alembic_version"
    writes = ("BEGIN IMMEDIATE", "SELECT pg_advisory", "CREATE", "INSERT", "UPDATE")
    assert not [line for line in statements if line.startswith(writes)]


def test_alembic_is_not_imported_when_there_is_nothing_to_do(empty_database: Database) -> None:
    upgrade(empty_database)
    script = (
        "import sys; from roost.records.database import Database; from roost.records.upgrade import upgrade;"
        f"upgrade(Database({empty_database.url!r})); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_newer_database_is_refused_and_left_alone(empty_database: Database) -> None:
    upgrade(empty_database)
    with empty_database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Conflict, match="revision '9999'") as caught:
        upgrade(empty_database)
    assert caught.value.hint == "Install the version of Roost that wrote them, or a newer one."
    with empty_database.read() as session:
        assert find_revision(session.connection()) == "9999"


def test_a_failed_upgrade_leaves_no_table_behind(empty_database: Database) -> None:
    def fail(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if "CREATE TABLE leases" in statement:
            raise OSError("the disk is full")

    event.listen(empty_database.engine, "before_cursor_execute", fail)
    with pytest.raises(OSError, match="disk is full"):
        upgrade(empty_database)
    event.remove(empty_database.engine, "before_cursor_execute", fail)
    assert inspect(empty_database.engine).get_table_names() == []
    upgrade(empty_database)
    with empty_database.read() as session:
        assert find_revision(session.connection()) == HEAD
