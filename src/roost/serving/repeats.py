"""Which events are written and which are only counted.

A replica that restarts every two seconds for days changes its deployment's phase as often. Of events that
say the same of one deployment, `TOLD` within `WINDOW_S` are written; the others are counted in the last of
them (`times` and `until` in its data). What callers wish is always written, and begins the count anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

WINDOW_S: Final = 3600.0
TOLD: Final = 4

SEEN: Final = frozenset({"phase", "start_failed", "paused", "woken"})
"""The kinds of what is seen or done; all others are wishes."""

_COUNT: Final = frozenset({"times", "until"})


@dataclass(frozen=True, slots=True)
class Past:
    """An event that was written."""

    id: int
    kind: str
    at: datetime
    data: dict[str, Any]


def find_repeated(kind: str, data: Mapping[str, Any], past: Iterable[Past], now: datetime) -> Past | None:
    """The event that is to count this one; None when it is to be written.

    Args:
        past: The deployment's events of the last `WINDOW_S`, newest first.
    """
    since = now - timedelta(seconds=WINDOW_S)
    equal = []
    for event in past:
        if event.kind not in SEEN or event.at < since:
            break
        if event.kind == kind and _facts(event.data) == data:
            equal.append(event)
    return equal[0] if len(equal) >= TOLD else None


def counted(event: Past, now: datetime) -> dict[str, Any]:
    """The data of an event that stands for one more."""
    return {**event.data, "times": event.data.get("times", 1) + 1, "until": now.isoformat()}


def _facts(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in _COUNT}
