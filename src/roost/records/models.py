"""The registry's entries: one row a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Index, String, Text, and_, func, select, tuple_
from sqlalchemy.orm import Mapped, Session, mapped_column

from roost.contracts.model import ModelPhase
from roost.keys import ModelKey
from roost.records.base import Base
from roost.records.claims import ClaimRow
from roost.serve import ServableKind


class ModelRow(Base):
    """A registry entry. Its phase is not stored: it follows from `finished` and the claim.

    Attributes:
        created_at: When the content was finished; before that, when its upload began.
        finished: There is content that can be deployed and loaded.
        committed_by: Token of the claim that wrote the content; a repeated commit is known by it.
        failure: Why the last upload gave no content; empty when finished.
        digest: SHA-256 of the weights' manifest; empty without weights.
        requirements: None until some are stored.
        config: None until one is stored.
    """

    __tablename__ = "models"
    __table_args__ = (
        Index(None, "finished", "family", "suffix", "run_name"),
        Index(None, "suffix", "family", "run_name"),
        Index(None, "run_name", "family", "suffix"),
    )

    family: Mapped[str] = mapped_column(String(63), primary_key=True)
    suffix: Mapped[str] = mapped_column(String(63), primary_key=True)
    run_name: Mapped[str] = mapped_column(String(63), primary_key=True)
    created_at: Mapped[datetime]
    finished: Mapped[bool] = mapped_column(default=False)
    committed_by: Mapped[str | None] = mapped_column(String(32))
    failure: Mapped[str] = mapped_column(Text, default="")
    has_weights: Mapped[bool] = mapped_column(default=True)
    digest: Mapped[str] = mapped_column(String(64), default="")
    size_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    requirements: Mapped[dict[str, Any] | None]
    config: Mapped[dict[str, str] | None]
    class_path: Mapped[str] = mapped_column(Text, default="")
    kind: Mapped[ServableKind | None] = mapped_column(String(32))
    capability: Mapped[str | None] = mapped_column(String(63))
    bundle_fingerprint: Mapped[str] = mapped_column(String(64), default="")
    pins: Mapped[list[str]] = mapped_column(default=list)

    @property
    def key(self) -> ModelKey:
        """The entry's key."""
        return ModelKey(self.family, self.suffix, self.run_name)


@dataclass(frozen=True, slots=True)
class ModelFilter:
    """Which entries to list; None is any."""

    family: str | None = None
    suffix: str | None = None
    run_name: str | None = None
    phase: ModelPhase | None = None


def find_model(session: Session, key: ModelKey) -> ModelRow | None:
    """The row of this key."""
    return session.get(ModelRow, (key.family, key.suffix, key.run_name))


def count_models(session: Session) -> int:
    """How many entries there are, in any phase."""
    return session.scalar(select(func.count()).select_from(ModelRow)) or 0


def list_model_keys(session: Session, *, limit: int) -> list[ModelKey]:
    """Keys of the newest entries, in any phase."""
    keys = select(ModelRow.family, ModelRow.suffix, ModelRow.run_name)
    return [ModelKey(*key) for key in session.execute(keys.order_by(ModelRow.created_at.desc()).limit(limit))]


def list_artifacts(session: Session) -> list[tuple[str, str, str]]:
    """Key, digest of the weights and fingerprint of the bundle of each entry; empty where it has none."""
    key = (ModelRow.family, ModelRow.suffix, ModelRow.run_name)
    rows = session.execute(select(*key, ModelRow.digest, ModelRow.bundle_fingerprint))
    return [(f"{family}/{suffix}/{run}", digest, bundle) for family, suffix, run, digest, bundle in rows]


def page_models(
    session: Session,
    which: ModelFilter,
    *,
    now: datetime,
    limit: int,
    offset: int = 0,
    after: ModelKey | None = None,
) -> tuple[Sequence[tuple[ModelRow, ClaimRow | None]], int]:
    """One page in key order, each entry with its claim, and the number of entries on all pages.

    With `after` the page begins behind that key, whatever was added or deleted before it meanwhile.
    """
    conditions = _conditions(which, now)
    matching = select(ModelRow, ClaimRow).join(ClaimRow, _OF_THE_SAME_MODEL, isouter=True).where(*conditions)
    if after is not None:
        matching = matching.where(tuple_(*_KEY) > tuple_(after.family, after.suffix, after.run_name))
    page = matching.order_by(*_KEY).limit(limit).offset(offset)
    total = select(func.count()).select_from(ModelRow)
    if which.phase not in (None, "ready"):
        total = total.join(ClaimRow, _OF_THE_SAME_MODEL, isouter=True)
    rows = [(model, claim) for model, claim in session.execute(page)]
    return rows, session.scalar(total.where(*conditions)) or 0


_KEY = (ModelRow.family, ModelRow.suffix, ModelRow.run_name)
_OF_THE_SAME_MODEL = and_(
    ClaimRow.family == ModelRow.family,
    ClaimRow.suffix == ModelRow.suffix,
    ClaimRow.run_name == ModelRow.run_name,
)


def _conditions(which: ModelFilter, now: datetime) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if which.family is not None:
        conditions.append(ModelRow.family == which.family)
    if which.suffix is not None:
        conditions.append(ModelRow.suffix == which.suffix)
    if which.run_name is not None:
        conditions.append(ModelRow.run_name == which.run_name)
    if which.phase is not None:
        conditions.extend(_in_phase(which.phase, now))
    return conditions


def _in_phase(phase: ModelPhase, now: datetime) -> list[ColumnElement[bool]]:
    """The same rule as `roost.services.models`, in SQL."""
    unfinished = ModelRow.finished.is_(False)
    by_phase: dict[ModelPhase, list[ColumnElement[bool]]] = {
        "ready": [ModelRow.finished.is_(True)],
        "uploading": [unfinished, ClaimRow.expires_at > now],
        "broken": [unfinished, ClaimRow.expires_at <= now],
        "upload_failed": [unfinished, ClaimRow.token.is_(None)],
    }
    return by_phase[phase]
