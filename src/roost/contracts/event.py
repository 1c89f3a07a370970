"""What happened, in order."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from roost.contracts.base import Wire

EventKind = Literal[
    "deployed",
    "updated",
    "scaled",
    "renamed",
    "undeployed",
    "phase",
    "start_failed",
    "paused",
    "woken",
    "config_set",
    "requirements_set",
    "model_deleted",
]


class Event(Wire):
    """One change of a deployment or a model.

    Attributes:
        id: Grows with every event; for asking what came after it.
        kind: `deployed` to `undeployed` are callers' wishes; `phase` to `woken` are what was seen or done;
            the others are changes of a model.
        subject: The deployment's key, or the model's.
        message: In a sentence, without terminal escapes.
        data: Its particulars by name, such as `phase` and `before` of a change of phase.
    """

    id: int
    at: datetime
    kind: EventKind
    subject: str
    message: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class EventList(Wire):
    """Events, oldest first."""

    items: list[Event]
