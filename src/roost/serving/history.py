"""What of a deployment's move is worth telling: events of the reconciler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from roost.contracts.event import EventKind
from roost.serving.state import State
from roost.serving.transition import WOKEN

Told = tuple[EventKind, str, dict[str, Any]]
"""Kind, sentence and particulars of an event."""


def told(before: State, after: State) -> Iterator[Told]:
    """The events between two states of one deployment, in order; a pause and a wake are one event each."""
    phases = {"phase": after.phase, "before": before.phase}
    if after.failures > before.failures:
        yield "start_failed", after.message, {"failures": after.failures}
    if after.pause == "paused" and before.pause != "paused":
        yield "paused", after.message or "It was paused.", phases
    elif after.pause == "waking" and before.pause != "waking":
        yield "woken", WOKEN, phases
    elif after.phase != before.phase:
        yield "phase", after.message, phases
