"""The deployments' records as the planner reads and writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from roost.records.database import Database
from roost.records.deployments import (
    DeploymentRow,
    list_active_versions,
    list_by_key,
    mark_stale,
    observe,
)
from roost.records.events import Happening
from roost.services.deployment_state import state_of, wanted_of
from roost.services.events import write_seen
from roost.serving.state import State, Wanted


@dataclass(frozen=True, slots=True)
class Known:
    """One record as last read. `fault` says why it cannot be planned; its parts are None then."""

    key: str
    generation: int
    version: int
    stale: bool
    phase: str
    wanted: Wanted | None = None
    state: State | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What to write of one record, while it is still at `generation`."""

    key: str
    generation: int
    values: dict[str, Any]
    events: tuple[Happening, ...] = ()


class Desired:
    """Reads the records of all deployments that concern Ray. Rows that did not change are not read again.

    Args:
        may_write: Asked first in every transaction that writes; what it raises undoes that.
    """

    def __init__(self, db: Database, may_write: Callable[[Session], None]) -> None:
        self._db = db
        self._may_write = may_write
        self._known: dict[str, Known] = {}

    def load(self) -> list[Known]:
        """The records as they are now, ordered by key."""
        with self._db.read() as session:
            versions = list_active_versions(session)
            changed = [key for key, version in versions.items() if not self._is_known(key, version)]
            fresh = {row.key: _known(row) for row in list_by_key(session, changed)}
        self._known = {
            key: fresh.get(key) or self._known[key] for key in versions if key in fresh or key in self._known
        }
        return list(self._known.values())

    def save(self, observations: Iterable[Observation], observed_at: datetime) -> int:
        """Write what was seen, each record only while it is at the same generation; how many were written."""
        written = 0
        events: list[Happening] = []
        with self._db.write() as session:
            self._may_write(session)
            for item in observations:
                values = {**item.values, "observed_at": observed_at, "stale": False}
                if not observe(session, item.key, item.generation, values):
                    continue
                written += 1
                events.extend(item.events)
            write_seen(session, events, observed_at)
        return written

    def mark_stale(self, last_seen: datetime | None) -> int:
        """Mark all observations as older than Ray has been out of reach; how many were not yet."""
        with self._db.write() as session:
            self._may_write(session)
            return mark_stale(session, last_seen)

    def _is_known(self, key: str, version: int) -> bool:
        known = self._known.get(key)
        return known is not None and known.version == version


def changed_values(old: State, new: State) -> dict[str, Any]:
    """The columns in which two states differ."""
    if new is old:
        return {}
    values = {name: getattr(new, name) for name in _STATE_COLUMNS if getattr(new, name) != getattr(old, name)}
    if "replicas" in values:
        values["replicas"] = [asdict(replica) for replica in new.replicas]
    return values


_STATE_COLUMNS = tuple(field.name for field in fields(State))


def _known(row: DeploymentRow) -> Known:
    known = Known(row.key, row.generation, row.version, row.stale, row.phase)
    try:
        return replace(known, wanted=wanted_of(row), state=state_of(row))
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # InvalidName is a ValueError, too
        return replace(known, fault=f"{type(error).__name__}: {error}")
