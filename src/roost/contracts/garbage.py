"""Stored objects that nothing refers to, and what was done about them."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from roost.contracts.base import Wire

GarbageKind = Literal["chunks", "manifests", "bundles", "runtime", "corrupt", "incoming"]
"""`corrupt`: set aside, because its bytes were altered; `incoming`: half written by a writer that died."""

GarbageAction = Literal["moved", "freed", "restored", "kept"]
"""To the trash; deleted; from the trash to where it belongs; left where it is."""

GarbageReason = Literal[
    "nothing refers to it",
    "set aside as corrupt",
    "its writer has died",
    "in the trash for the grace",
    "waits in the trash",
    "in use",
    "younger than the grace",
    "an upload is under way",
    "a manifest cannot be read",
]

LONGEST_GRACE_S: Final = 10 * 365 * 86_400.0


class GarbageRequest(Wire):
    """Asks for a collection.

    Attributes:
        dry_run: Only say what would be done.
        grace_s: What was stored, or moved to the trash, so many seconds ago or less is left alone; None takes
            the server's setting.
    """

    dry_run: bool = False
    grace_s: float | None = Field(None, ge=0, le=LONGEST_GRACE_S, allow_inf_nan=False)


class GarbageLine(Wire):
    """How many objects of one kind were treated alike, and why."""

    kind: GarbageKind
    action: GarbageAction
    reason: GarbageReason
    count: int
    size_bytes: int


class GarbageReport(Wire):
    """What a collection did; of a dry run, what it would have done.

    Attributes:
        lines: Ordered by action and kind. What a run both moves and deletes (with a grace of 0) is in two.
        notes: What kept it from collecting more, in sentences.
    """

    dry_run: bool
    grace_s: float
    lines: list[GarbageLine]
    notes: list[str] = Field(default_factory=list)

    def total(self, action: GarbageAction) -> tuple[int, int]:
        """Objects and bytes of all kinds."""
        lines = [line for line in self.lines if line.action == action]
        return sum(line.count for line in lines), sum(line.size_bytes for line in lines)
