"""How the server finds its storage when it is tried."""

from __future__ import annotations

from roost.contracts.base import Wire


class StorageCheck(Wire):
    """What came of storing, listing, reading and deleting one object.

    Attributes:
        problem: Which step failed and why; empty when all went well.
        hint: The next step, of a problem.
        clock_ahead_s: Seconds by which the storage's clock is ahead of the server's, within a second or so;
            None when it was not seen.
        signed_reads: Whether callers without credentials read the storage itself.
        signed_writes: Whether they write it, too.
    """

    problem: str = ""
    hint: str = ""
    clock_ahead_s: float | None = None
    signed_reads: bool = False
    signed_writes: bool = False
