"""Counts what a collection does."""

from __future__ import annotations

from typing import Final, get_args

from roost.contracts.garbage import GarbageAction, GarbageKind, GarbageLine, GarbageReason
from roost.storage.garbage import Stored

_ACTIONS: Final[tuple[GarbageAction, ...]] = get_args(GarbageAction)


class GarbageTally:
    """Objects and bytes by kind, action and reason."""

    def __init__(self) -> None:
        self._counts: dict[tuple[GarbageAction, GarbageKind, GarbageReason], tuple[int, int]] = {}

    def add(self, item: Stored, action: GarbageAction, reason: GarbageReason) -> None:
        """Count one object."""
        count, size = self._counts.get((action, item.kind, reason), (0, 0))
        self._counts[action, item.kind, reason] = count + 1, size + item.size

    def lines(self) -> list[GarbageLine]:
        """What was counted, ordered by action and kind."""
        ordered = sorted(self._counts.items(), key=lambda entry: (_ACTIONS.index(entry[0][0]), entry[0]))
        return [
            GarbageLine(kind=kind, action=action, reason=reason, count=count, size_bytes=size)
            for (action, kind, reason), (count, size) in ordered
        ]
