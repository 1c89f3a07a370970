"""The calls to Alembic. Loaded by `roost.records.upgrade` only when it is needed."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def upgrade(connection: Connection, migrations: Path) -> None:
    """Run all migrations that are missing, in the transaction of `connection`."""
    config = alembic_config(migrations)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def alembic_config(migrations: Path) -> Config:
    """Alembic's settings; no `alembic.ini` is read."""
    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    return config
