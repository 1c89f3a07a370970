"""The path below its mount at which every replica answers for itself, whatever it serves."""

from __future__ import annotations

from typing import Final

READY_PATH: Final = "/-/roost"

READY_HEADER: Final = "x-roost-replica"
"""What the replica was made of."""

ID_HEADER: Final = "x-roost-replica-id"
"""Tells it from all others, also from those before it in the same place."""

IN_FLIGHT_HEADER: Final = "x-roost-in-flight"
"""Requests it works on, this one not counted."""

IDLE_HEADER: Final = "x-roost-idle-s"
"""Seconds since it worked on one, or since it is up; 0 while it does."""
