"""What `roost doctor` says of the storage: the server's trial of it, and the way from here to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.cli.finding import Finding
from roost.client import Client, control_calls
from roost.contracts.info import StorageInfo
from roost.contracts.storage import StorageCheck
from roost.errors import RoostError
from roost.sdk.artifacts import Way, find_way

_SKEW_WARNED_S: Final = 60.0
_SKEW_REFUSED_S: Final = 900.0
"""S3 refuses requests from a clock that is this far off."""


def storage_findings(client: Client, storage: StorageInfo) -> Iterator[Finding]:
    """Whether the server can use its storage, whether their clocks agree, and how this process gets there."""
    try:
        check = client.run(control_calls.check_storage())
    except RoostError as error:
        yield Finding("storage", "failed", f"{storage.url}: {error.message}", error.hint or "")
        return
    if check.problem:
        yield Finding("storage", "failed", f"{storage.url}: {check.problem}", check.hint)
        return
    yield Finding("storage", "ok", f"{storage.url}: stores, lists, reads and deletes")
    yield from _clock(check)
    yield Finding("storage from here", "ok", _access(find_way(storage), check))


def _clock(check: StorageCheck) -> Iterator[Finding]:
    ahead_s = check.clock_ahead_s
    if ahead_s is None or abs(ahead_s) < _SKEW_WARNED_S:
        return
    side = "ahead of" if ahead_s > 0 else "behind"
    what = f"the storage's clock is {abs(ahead_s):.0f} s {side} the server's"
    step = "Set both clocks, for example by NTP; S3 refuses requests that are 15 minutes off."
    yield Finding("storage clock", "failed" if abs(ahead_s) >= _SKEW_REFUSED_S else "warning", what, step)


def _access(way: Way, check: StorageCheck) -> str:
    if way == "folder":
        return "read and written directly, in the same folder"
    if way == "bucket":
        return "read and written directly, with the credentials of this environment"
    if way == "server" or not check.signed_reads:
        return "read and written through the server"
    if not check.signed_writes:
        return "read by signed URLs, written through the server"
    return "read and written by signed URLs"
