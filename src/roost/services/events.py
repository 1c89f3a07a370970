"""What happened to deployments."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, cast

from sqlalchemy.orm import Session

from roost.contracts.event import Event, EventKind, EventList
from roost.keys import DeploymentKey
from roost.records.database import Database
from roost.records.events import EventRow, Happening, add_event, list_events, list_latest, repeat_event
from roost.serving.repeats import WINDOW_S, Past, counted, find_repeated

_LOOK_BACK: Final = 256


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


def write_seen(session: Session, happening: Happening, at: datetime) -> None:
    """Write what was seen of a deployment; what repeats too often is only counted (`serving.repeats`)."""
    since = at - timedelta(seconds=WINDOW_S)
    rows = list_latest(session, happening.subject, since=since, limit=_LOOK_BACK)
    past = (Past(row.id, row.kind, row.at, row.data) for row in rows)
    repeated = find_repeated(happening.kind, happening.data, past, at)
    if repeated is None:
        add_event(session, happening, at)
    else:
        repeat_event(session, repeated.id, happening.message, counted(repeated, at))


def _event(row: EventRow) -> Event:
    return Event(
        id=row.id,
        at=row.at,
        kind=cast(EventKind, row.kind),
        subject=row.subject,
        message=row.message,
        data=row.data,
    )
