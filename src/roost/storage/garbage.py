"""Which stored objects are garbage, and why others are not. Decides; moves nothing.

Only objects at paths that Roost itself gives are looked at. What else lies in the storage is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from roost.contracts.garbage import GarbageKind, GarbageReason
from roost.storage.durable import STAGING
from roost.storage.store import ObjectInfo, ObjectStore
from roost.storage.trash import TRASH

KINDS: Final[tuple[GarbageKind, ...]] = ("manifests", "chunks", "bundles", "runtime", "corrupt", "incoming")

RUNTIME_GRACE: Final = timedelta(days=7)
"""Ray downloads a runtime by itself, so none can be brought back when it is asked for; and a server of
another version refers to its own only once it deploys."""

_NAME: Final = r"([0-9a-f]{64})"
_ARTIFACT: Final = rf"chunks/[0-9a-f]{{2}}/{_NAME}|manifests/{_NAME}\.json|bundles/{_NAME}\.zip"
_PATTERNS: Final[dict[GarbageKind, re.Pattern[str]]] = {
    "manifests": re.compile(rf"manifests/{_NAME}\.json", re.ASCII),
    "chunks": re.compile(rf"chunks/[0-9a-f]{{2}}/{_NAME}", re.ASCII),
    "bundles": re.compile(rf"bundles/{_NAME}\.zip", re.ASCII),
    "runtime": re.compile(rf"runtime/{_NAME}\.zip", re.ASCII),
    "corrupt": re.compile(rf"corrupt/(?:{_ARTIFACT})", re.ASCII),
    "incoming": re.compile(rf"{STAGING}/[0-9a-f]{{32}}", re.ASCII),
}


@dataclass(frozen=True, slots=True)
class Stored:
    """An object that Roost has stored.

    Attributes:
        path: Where it belongs, also while it lies in the trash.
        name: The digest or fingerprint it is of; empty for `incoming`.
        modified: When it was stored; of an object in the trash, when it was moved there.
    """

    kind: GarbageKind
    path: str
    name: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Needed:
    """What may not be garbage.

    Attributes:
        names: Digests and fingerprints of all that is referred to, chunks among them.
        chunks_known: False when a manifest that is referred to cannot be read: then any chunk may be of it.
        uploading_since: When the oldest upload under way began. Of what was stored or moved since, nobody
            knows yet whether it is referred to.
    """

    names: frozenset[str]
    chunks_known: bool = True
    uploading_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells garbage from what is needed.

    Args:
        grace: What is younger is not garbage; what lies in the trash for less is not deleted.
        exists: Whether there is an object at a path.
    """

    needed: Needed
    now: datetime
    grace: timedelta
    exists: Callable[[str], bool]

    def stored(self, item: Stored) -> GarbageReason | None:
        """Why an object in its place is kept; None for garbage."""
        if self._is_needed(item):
            return "in use"
        return self._too_early(item, max(self.grace, RUNTIME_GRACE) if item.kind == "runtime" else self.grace)

    def trashed(self, item: Stored) -> GarbageReason | None:
        """Why an object in the trash is kept there; None when it may be deleted.

        `in use` asks for it to be brought back.
        """
        if item.kind != "corrupt" and self._is_needed(item) and not self.exists(item.path):
            return "in use"
        return self._too_early(item, self.grace)

    def _is_needed(self, item: Stored) -> bool:
        if item.name not in self.needed.names:
            return False
        # What was set aside as corrupt says why a model cannot be loaded, until it is stored anew.
        return item.kind != "corrupt" or not self.exists(item.path.removeprefix("corrupt/"))

    def _too_early(self, item: Stored, grace: timedelta) -> GarbageReason | None:
        since = self.needed.uploading_since
        if item.kind == "chunks" and not self.needed.chunks_known:
            return "a manifest cannot be read"
        if since is not None and item.modified >= since:
            return "an upload is under way"
        return "younger than the grace" if self.now - item.modified < grace else None


def list_stored(store: ObjectStore, kind: GarbageKind) -> Iterator[Stored]:
    """All objects of this kind that are in their place."""
    for info in store.list_infos(STAGING if kind == "incoming" else kind):
        found = _parsed(kind, info.path, info)
        if found is not None:
            yield found


def list_trash(store: ObjectStore) -> Iterator[Stored]:
    """All objects in the trash; `modified` is that of the object itself."""
    for info in store.list_infos(TRASH):
        path = info.path.removeprefix(f"{TRASH}/")
        for kind in KINDS:
            found = _parsed(kind, path, info) if kind != "incoming" else None
            if found is not None:
                yield found


def _parsed(kind: GarbageKind, path: str, info: ObjectInfo) -> Stored | None:
    match = _PATTERNS[kind].fullmatch(path)
    if match is None:
        return None
    name = next((group for group in match.groups() if group), "")
    if "chunks/" in path and f"/{name[:2]}/" not in path:
        return None
    return Stored(kind, path, name, info.size, info.modified)
