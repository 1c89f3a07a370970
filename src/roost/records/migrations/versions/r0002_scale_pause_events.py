"""Add scaling, pausing and rollouts to deployments; add events."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _added() -> list[sa.Column[Any]]:
    return [
        sa.Column("autoscaling", sa.JSON(), nullable=True),
        sa.Column("rollout", sa.String(length=16), nullable=False, server_default="wait"),
        sa.Column("pinned", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("idle_timeout_s", sa.Double(), nullable=True),
        sa.Column("requirements", sa.JSON(), nullable=False, server_default="{}"),
        sa.Column("pause", sa.String(length=16), nullable=False, server_default=""),
        sa.Column("in_place", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
    ]


def upgrade() -> None:
    """Add the columns with values for rows that are there, and the table."""
    with op.batch_alter_table("deployments") as table:
        for column in _added():
            table.add_column(column)
    # In a batch of its own: SQLite copies the rows of each batch, which the first needs the defaults for.
    with op.batch_alter_table("deployments") as table:
        for column in _added():
            if column.server_default is not None:
                table.alter_column(column.name, server_default=None)
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=280), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_subject_id"), "events", ["subject", "id"], unique=False)
    op.create_index(op.f("ix_events_at"), "events", ["at"], unique=False)
