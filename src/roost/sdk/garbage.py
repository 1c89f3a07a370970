"""Garbage of the storage, as `import roost` offers it."""

from __future__ import annotations

from datetime import timedelta

from roost.client import control_calls
from roost.client.call import request_of
from roost.contracts.garbage import GarbageReport, GarbageRequest
from roost.sdk.connection import current_client
from roost.sdk.progress import waiting


def collect_garbage(dry_run: bool = False, grace: timedelta | None = None) -> GarbageReport:
    """Have the server move what is stored and nothing refers to into the trash, and empty that.

    An object is moved once it is older than `grace`, and deleted once it has lain in the trash for `grace`.
    Whatever the grace, what was stored or moved since the oldest upload under way began is left alone. What
    is needed again before it is deleted is taken out of the trash by whoever needs it.

    Args:
        dry_run: Change nothing; only say what would be done.
        grace: None takes the server's `ROOST_GC_GRACE_S`. With 0, what an interrupted upload has stored is
            deleted, too: it then has to be sent again.

    Raises:
        Conflict: while another collection is under way.
        ValidationFailed: for a grace below 0.
    """
    grace_s = grace.total_seconds() if grace is not None else None
    request = request_of(GarbageRequest, dry_run=dry_run, grace_s=grace_s)
    with waiting("Looking for garbage" if dry_run else "Collecting garbage"):
        return current_client().run(control_calls.collect_garbage(request))
