"""Make all tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    _models()
    _claims()
    _deployments()
    _leases()


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("family", sa.String(length=63), nullable=False),
        sa.Column("suffix", sa.String(length=63), nullable=False),
        sa.Column("run_name", sa.String(length=63), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.Boolean(), nullable=False),
        sa.Column("committed_by", sa.String(length=32), nullable=True),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("has_weights", sa.Boolean(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("requirements", sa.JSON(), nullable=True),
        sa.Column("config", sa.JSON(), nullable=True),
        sa.Column("class_path", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=True),
        sa.Column("capability", sa.String(length=63), nullable=True),
        sa.Column("bundle_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("pins", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("family", "suffix", "run_name", name=op.f("pk_models")),
    )
    op.create_index(
        op.f("ix_models_finished_family_suffix_run_name"),
        "models",
        ["finished", "family", "suffix", "run_name"],
        unique=False,
    )
    op.create_index(
        op.f("ix_models_run_name_family_suffix"), "models", ["run_name", "family", "suffix"], unique=False
    )
    op.create_index(
        op.f("ix_models_suffix_family_run_name"), "models", ["suffix", "family", "run_name"], unique=False
    )


def _claims() -> None:
    op.create_table(
        "claims",
        sa.Column("family", sa.String(length=63), nullable=False),
        sa.Column("suffix", sa.String(length=63), nullable=False),
        sa.Column("run_name", sa.String(length=63), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["family", "suffix", "run_name"],
            ["models.family", "models.suffix", "models.run_name"],
            name=op.f("fk_claims_family_models"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("family", "suffix", "run_name", name=op.f("pk_claims")),
    )


def _deployments() -> None:
    op.create_table(
        "deployments",
        sa.Column("key", sa.String(length=280), nullable=False),
        sa.Column("family", sa.String(length=63), nullable=False),
        sa.Column("suffix", sa.String(length=63), nullable=False),
        sa.Column("run_name", sa.String(length=63), nullable=False),
        sa.Column("config_fingerprint", sa.String(length=12), nullable=False),
        sa.Column("present", sa.Boolean(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("live_name", sa.String(length=255), nullable=True),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("num_replicas", sa.Integer(), nullable=False),
        sa.Column("application", sa.JSON(), nullable=False),
        sa.Column("capability", sa.String(length=63), nullable=True),
        sa.Column("timeout_s", sa.Double(), nullable=False),
        sa.Column("bundle_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("replaced_bundle_fingerprint", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deployed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("step", sa.String(length=16), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("restarts", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("ray_status", sa.String(length=32), nullable=False),
        sa.Column("replicas", sa.JSON(), nullable=False),
        sa.Column("observed_generation", sa.Integer(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stale", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_deployments")),
        sa.UniqueConstraint("live_name", name=op.f("uq_deployments_live_name")),
    )
    op.create_index(
        op.f("ix_deployments_family_suffix_run_name"),
        "deployments",
        ["family", "suffix", "run_name"],
        unique=False,
    )


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
