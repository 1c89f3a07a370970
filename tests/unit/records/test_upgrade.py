from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, inspect, text

from roost.errors import Conflict
from roost.records.alembic_run import alembic_config
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.records.upgrade import HEAD, MIGRATIONS, find_revision, upgrade


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path}/records.db")


def test_head_is_the_newest_migration() -> None:
    assert ScriptDirectory.from_config(alembic_config(MIGRATIONS)).get_current_head() == HEAD


def test_migrations_lead_to_the_tables_of_the_code(database: Database) -> None:
    upgrade(database)
    with database.read() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
        assert set(inspect(session.connection()).get_table_names()) == {
            "alembic_version",
            "claims",
            "deployments",
            "events",
            "leases",
            "models",
        }


def test_indexes_of_the_code_are_all_there(database: Database) -> None:
    # compare_metadata looks at names; this looks at the columns as well.
    upgrade(database)
    inspector = inspect(database.engine)
    for table in METADATA.tables.values():
        made = {index["name"]: index["column_names"] for index in inspector.get_indexes(table.name)}
        wanted = {index.name: [column.name for column in index.columns] for index in table.indexes}
        assert made == wanted


def test_upgrading_again_writes_nothing(database: Database) -> None:
    upgrade(database)
    statements: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    upgrade(database)
    assert statements[0] == "BEGIN DEFERRED"
    assert statements[-1] == "SELECT version_num FROM alembic_version"
    assert not [
        line for line in statements if line.startswith(("BEGIN IMMEDIATE", "CREATE", "INSERT", "UPDATE"))
    ]


def test_alembic_is_not_imported_when_there_is_nothing_to_do(database: Database) -> None:
    upgrade(database)
    script = (
        "import sys; from roost.records.database import Database; from roost.records.upgrade import upgrade;"
        f"upgrade(Database({database.url!r})); sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_newer_database_is_refused_and_left_alone(database: Database) -> None:
    upgrade(database)
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Conflict, match="revision '9999'") as caught:
        upgrade(database)
    assert caught.value.hint == "Install the version of Roost that wrote them, or a newer one."
    with database.read() as session:
        assert find_revision(session.connection()) == "9999"


def test_a_failed_upgrade_leaves_no_table_behind(database: Database) -> None:
    def fail(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if "CREATE TABLE leases" in statement:
            raise OSError("the disk is full")

    event.listen(database.engine, "before_cursor_execute", fail)
    with pytest.raises(OSError, match="disk is full"):
        upgrade(database)
    event.remove(database.engine, "before_cursor_execute", fail)
    assert inspect(database.engine).get_table_names() == []
    upgrade(database)
    with database.read() as session:
        assert find_revision(session.connection()) == HEAD
