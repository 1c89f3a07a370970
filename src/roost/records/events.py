"""What happened to deployments; written in the same transaction as the change itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, String, Text, delete, func, select, update
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


def repeat_event(session: Session, event_id: int, message: str, data: dict[str, Any]) -> None:
    """Let an event that was written stand for one more like it."""
    session.execute(update(EventRow).where(EventRow.id == event_id).values(message=message, data=data))


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


def list_latest(session: Session, subject: str, *, since: datetime, limit: int) -> Sequence[EventRow]:
    """The last events of one deployment, newest first."""
    return session.scalars(
        select(EventRow)
        .where(EventRow.subject == subject, EventRow.at >= since)
        .order_by(EventRow.id.desc())
        .limit(limit)
    ).all()


def delete_events_before(session: Session, at: datetime, *, limit: int) -> int:
    """Drop up to `limit` events older than `at`, the oldest first; how many.

    The last event of all is kept, however old: SQLite would give its id to the next one.
    """
    newest = select(func.max(EventRow.id)).scalar_subquery()
    old = select(EventRow.id).where(EventRow.at < at, EventRow.id < newest).order_by(EventRow.at).limit(limit)
    result: Any = session.execute(delete(EventRow).where(EventRow.id.in_(old)))
    return int(result.rowcount)
