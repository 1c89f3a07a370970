"""What happened to deployments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from sqlalchemy.orm import Session

from roost.contracts.event import Event, EventKind, EventList
from roost.keys import DeploymentKey
from roost.records.database import Database
from roost.records.events import EventRow, Happening, add_events, list_events, list_since, repeat_event
from roost.serving.repeats import WINDOW_S, Past, counted, find_repeated


class Events:
    """Reads the events; they are kept for 30 days (`reconcile.expiry`)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def list(
        self, *, subject: DeploymentKey | None = None, after_id: int | None = None, limit: int = 100
    ) -> EventList:
        """Events oldest first: the first `limit` after `after_id`; without it, the last `limit`."""
        with self._db.read() as session:
            rows = list_events(
                session, subject=str(subject) if subject else None, after_id=after_id, limit=limit
            )
        return EventList(items=[_event(row) for row in rows])


def write_seen(session: Session, happenings: Sequence[Happening], at: datetime) -> None:
    """Write what was seen of deployments; what repeats too often is only counted (`serving.repeats`)."""
    past: dict[str, list[Past]] = {item.subject: [] for item in happenings}
    for row in list_since(session, list(past), at - timedelta(seconds=WINDOW_S)):
        past[row.subject].append(Past(row.id, row.kind, row.at, row.data))
    fresh = []
    for item in happenings:
        repeated = find_repeated(item.kind, item.data, past[item.subject], at)
        if repeated is None:
            fresh.append(item)
        else:
            repeat_event(session, repeated.id, item.message, counted(repeated, at))
    add_events(session, fresh, at)


def _event(row: EventRow) -> Event:
    return Event(
        id=row.id,
        at=row.at,
        kind=cast(EventKind, row.kind),
        subject=row.subject,
        message=row.message,
        data=row.data,
    )
