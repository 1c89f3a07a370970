"""How much the replicas of a deployment are used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Of all replicas together.

    Attributes:
        in_flight: Requests they work on.
        idle_s: Seconds since any of them worked on one, or since the newest is up; 0 while one does.
    """

    in_flight: int
    idle_s: float
