"""What of a deployment's move is worth telling: events of the reconciler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from roost.contracts.event import EventKind
from roost.serving.state import State

Told = tuple[EventKind, str, dict[str, Any]]
"""Kind, sentence and particulars of an event."""


def told(before: State, after: State) -> Iterator[Told]:
    """The events between two states of one deployment, in order."""
    if after.pause == "paused" and before.pause != "paused":
        yield "paused", after.message or "It was paused.", {}
    if after.pause == "waking" and before.pause != "waking":
        yield "woken", "A request woke it.", {}
    if after.failures > before.failures:
        yield "start_failed", after.message, {"failures": after.failures}
    if after.phase != before.phase:
        yield "phase", after.message, {"phase": after.phase, "before": before.phase}
