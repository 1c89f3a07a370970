"""What Alembic runs: the migrations, in the transaction of the connection it is given."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from roost.records.tables import METADATA


def _run() -> None:
    connection = context.config.attributes["connection"]
    assert isinstance(connection, Connection)
    context.configure(connection=connection, target_metadata=METADATA, transactional_ddl=True)
    context.run_migrations()


_run()
