"""What happened to deployments; written in the same transaction as the change itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, Row, String, Text, delete, func, insert, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from roost.contracts.event import EventKind
from roost.records.base import Base

_Brief = tuple[int, str, str, datetime, dict[str, Any]]


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
    add_events(session, [happening], at)


def add_events(session: Session, happenings: Sequence[Happening], at: datetime) -> None:
    """Write events of one moment, in order."""
    if happenings:
        session.execute(insert(EventRow), [{"at": at, **asdict(item)} for item in happenings])


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


def list_since(session: Session, subjects: Sequence[str], since: datetime) -> Sequence[Row[_Brief]]:
    """Id, kind, subject, time and data of these deployments' events since then, newest first."""
    rows: list[Row[_Brief]] = []
    for start in range(0, len(subjects), 500):  # databases bound the variables of a statement
        some = subjects[start : start + 500]
        query = select(EventRow.id, EventRow.kind, EventRow.subject, EventRow.at, EventRow.data)
        found = query.where(EventRow.at >= since, EventRow.subject.in_(some)).order_by(EventRow.id.desc())
        rows.extend(session.execute(found))
    return rows


def delete_events_before(session: Session, at: datetime, *, limit: int) -> int:
    """Drop up to `limit` events older than `at`, the oldest first; how many.

    The last event of all is kept, however old: SQLite would give its id to the next one.
    """
    newest = select(func.max(EventRow.id)).scalar_subquery()
    old = select(EventRow.id).where(EventRow.at < at, EventRow.id < newest).order_by(EventRow.at).limit(limit)
    result: Any = session.execute(delete(EventRow).where(EventRow.id.in_(old)))
    return int(result.rowcount)
