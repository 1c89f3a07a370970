"""The path below its mount at which every replica answers for itself, whatever it serves."""

from __future__ import annotations

from typing import Final

READY_PATH: Final = "/-/roost"
READY_HEADER: Final = "x-roost-replica"
