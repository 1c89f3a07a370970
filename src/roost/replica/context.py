"""What this process knows when it is a replica; None elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roost.contracts.replica import ReplicaSpec


@dataclass(frozen=True, slots=True)
class ReplicaContext:
    """The replica this process is.

    Attributes:
        spec: What the replica was started with.
        weights: The verified local directory of the weights; None for a model without weights.
    """

    spec: ReplicaSpec
    weights: Path | None


_current: ReplicaContext | None = None


def set_current(context: ReplicaContext) -> None:
    """Called once by the builder, before the servable's constructor runs."""
    global _current  # noqa: PLW0603  # one replica a process is what Ray gives us
    _current = context


def find_current() -> ReplicaContext | None:
    """The replica this process is, or None outside of one."""
    return _current
