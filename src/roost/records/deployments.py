"""Deployments: what is wanted, what Ray was told, what was last seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import Index, String, Table, Update, bindparam, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from roost.keys import DeploymentKey, ModelKey
from roost.records.base import Base


class DeploymentRow(Base):
    """One deployment. The row outlives an undeploy, so that undeploying again is no error.

    Wanted (written by callers; each change adds 1 to `generation`):
        present: False once it was undeployed.
        live_name: The name while `present`, else NULL; unique.
        application: The Ray Serve application, computed at deploy time from the model as it was then.
        requirements: Of the model then; its placement is in the application's actor options.
    Told to Ray (written by the reconciler, guarded by `generation`):
        step: `apply`: in the set that is PUT; `clear`: left out until Ray has forgotten it.
        failures: Failed starts of this generation; `retry_at` is when the next one is due.
        restarts: Forced restarts of this very application; above 0 it is part of what is PUT.
        pause: `paused` while it is scaled to zero for others, `waking` from the first request until it runs.
        in_place: The update under way stops old replicas first, for want of room.
        used_at: When it was deployed, woken, or last known to be asked.
    Seen (written by the reconciler, guarded by `generation`):
        observed_generation: The generation the observation is of.
        observed_at: When what is seen last changed, or when Ray went out of reach.
    """

    __tablename__ = "deployments"

    key: Mapped[str] = mapped_column(String(280), primary_key=True)
    family: Mapped[str] = mapped_column(String(63))
    suffix: Mapped[str] = mapped_column(String(63))
    run_name: Mapped[str] = mapped_column(String(63))
    config_fingerprint: Mapped[str] = mapped_column(String(12))

    present: Mapped[bool]
    name: Mapped[str] = mapped_column(String(255))
    live_name: Mapped[str | None] = mapped_column(String(255), unique=True)
    config: Mapped[dict[str, str]]
    num_replicas: Mapped[int]
    autoscaling: Mapped[dict[str, Any] | None]
    rollout: Mapped[str] = mapped_column(String(16))
    pinned: Mapped[bool]
    idle_timeout_s: Mapped[float | None]
    requirements: Mapped[dict[str, Any]]
    application: Mapped[dict[str, Any]]
    capability: Mapped[str | None] = mapped_column(String(63))
    timeout_s: Mapped[float]
    bundle_fingerprint: Mapped[str] = mapped_column(String(64))
    replaced_bundle_fingerprint: Mapped[str] = mapped_column(String(64))
    generation: Mapped[int]
    created_at: Mapped[datetime]
    deployed_at: Mapped[datetime]

    step: Mapped[str] = mapped_column(String(16))
    failures: Mapped[int]
    retry_at: Mapped[datetime | None]
    restarts: Mapped[int]
    pause: Mapped[str] = mapped_column(String(16))
    in_place: Mapped[bool]
    used_at: Mapped[datetime | None]

    phase: Mapped[str] = mapped_column(String(16))
    message: Mapped[str]
    ray_status: Mapped[str] = mapped_column(String(32))
    replicas: Mapped[list[dict[str, Any]]]
    observed_generation: Mapped[int]
    observed_at: Mapped[datetime | None]
    stale: Mapped[bool]
    version: Mapped[int]

    __table_args__ = (Index(None, "family", "suffix", "run_name"),)

    @property
    def deployment_key(self) -> DeploymentKey:
        """The key, as it was checked when the row was made."""
        return DeploymentKey(self.family, self.suffix, self.run_name, self.config_fingerprint)


_ACTIVE = DeploymentRow.present | (DeploymentRow.phase != "not_deployed")
_ACTIVE_VERSIONS = select(DeploymentRow.key, DeploymentRow.version).where(_ACTIVE).order_by(DeploymentRow.key)


def find_deployment(session: Session, key: DeploymentKey) -> DeploymentRow | None:
    """The row of `key`, also when it was undeployed."""
    return session.get(DeploymentRow, str(key))


def find_by_live_name(session: Session, name: str) -> DeploymentRow | None:
    """The live deployment that callers reach by `name`."""
    return session.scalars(select(DeploymentRow).where(DeploymentRow.live_name == name)).one_or_none()


def list_deployments(session: Session) -> Sequence[DeploymentRow]:
    """All rows ever deployed, ordered by key."""
    return session.scalars(select(DeploymentRow).order_by(DeploymentRow.key)).all()


def list_active(session: Session) -> Sequence[DeploymentRow]:
    """Rows that are wanted, or that Ray may still hold; ordered by key."""
    return session.scalars(select(DeploymentRow).where(_ACTIVE).order_by(DeploymentRow.key)).all()


def list_active_versions(session: Session) -> dict[str, int]:
    """The `version` of each active row by key, ordered by key: what changed is seen without reading rows."""
    rows = session.connection().execute(_ACTIVE_VERSIONS)
    return {key: version for key, version in rows}  # noqa: C416  # typed rows, which dict() does not take


def list_by_key(session: Session, keys: Sequence[str]) -> Sequence[DeploymentRow]:
    """The rows of these keys, in no order."""
    if len(keys) == 1:  # as after most changes: half the price
        row = session.get(DeploymentRow, keys[0])
        return [row] if row is not None else []
    rows: list[DeploymentRow] = []
    for start in range(0, len(keys), 500):  # databases bound the variables of a statement
        some = keys[start : start + 500]
        rows.extend(session.scalars(select(DeploymentRow).where(DeploymentRow.key.in_(some))))
    return rows


def list_of_model(session: Session, model: ModelKey) -> Sequence[DeploymentRow]:
    """Active rows that deploy `model`, ordered by key."""
    return session.scalars(
        select(DeploymentRow)
        .where(
            _ACTIVE,
            DeploymentRow.family == model.family,
            DeploymentRow.suffix == model.suffix,
            DeploymentRow.run_name == model.run_name,
        )
        .order_by(DeploymentRow.key)
    ).all()


def observe(session: Session, key: str, generation: int, values: dict[str, Any]) -> bool:
    """Write what the reconciler did and saw, and add 1 to `version`.

    Returns:
        False, and nothing written, when the row has moved on from `generation`.
    """
    given = {f"new_{name}": value for name, value in values.items()}
    result = session.execute(
        _observing(tuple(values)), {"the_key": key, "the_generation": generation, **given}
    )
    return _rows(result) == 1


@lru_cache(maxsize=64)
def _observing(columns: tuple[str, ...]) -> Update:
    """The statement of `observe`; hundreds are executed in a burst, and making one costs more than that."""
    table = cast(Table, DeploymentRow.__table__)  # of the row itself, the session would look for copies
    return (
        update(table)
        .where(table.c.key == bindparam("the_key"), table.c.generation == bindparam("the_generation"))
        .values({name: bindparam(f"new_{name}") for name in columns} | {"version": table.c.version + 1})
    )


def mark_stale(session: Session, last_seen: datetime | None) -> int:
    """Mark the observations of all active rows as stale; returns how many were not yet.

    `last_seen` is when Ray last answered; None keeps each row's own time.
    """
    values: dict[str, Any] = {"stale": True, "version": DeploymentRow.version + 1}
    if last_seen is not None:
        values["observed_at"] = last_seen
    result = session.execute(
        update(DeploymentRow).where(DeploymentRow.stale.is_(False), _ACTIVE).values(**values)
    )
    return _rows(result)


def _rows(result: Any) -> int:
    return int(result.rowcount)
