"""What happened to deployments; written in the same transaction as the change itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, String, Text, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from roost.contracts.event import EventKind
from roost.records.base import Base


class EventRow(Base):
    """One event; `id` grows."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(String(32))
    subject: Mapped[str] = mapped_column(String(280))
    message: Mapped[str] = mapped_column(Text)
    data: Mapped[dict[str, Any]]

    __table_args__ = (Index(None, "subject", "id"), Index(None, "at"))


@dataclass(frozen=True, slots=True)
class Happening:
    """An event before it is written: what kind, of which deployment, in which words."""

    kind: EventKind
    subject: str
    message: str
    data: dict[str, Any] = field(default_factory=dict)


def add_event(session: Session, happening: Happening, at: datetime) -> None:
    """Write one event."""
    session.add(
        EventRow(
            at=at,
            kind=happening.kind,
            subject=happening.subject,
            message=happening.message,
            data=happening.data,
        )
    )


def list_events(
    session: Session, *, subject: str | None = None, after_id: int | None = None, limit: int = 100
) -> Sequence[EventRow]:
    """Events oldest first: the first `limit` after `after_id`; without it, the last `limit`."""
    query = select(EventRow)
    if subject is not None:
        query = query.where(EventRow.subject == subject)
    if after_id is not None:
        return session.scalars(query.where(EventRow.id > after_id).order_by(EventRow.id).limit(limit)).all()
    return session.scalars(query.order_by(EventRow.id.desc()).limit(limit)).all()[::-1]


def delete_events_before(session: Session, at: datetime) -> int:
    """Drop what is older than `at`; how many."""
    result: Any = session.execute(delete(EventRow).where(EventRow.at < at))
    return int(result.rowcount)
