"""Whether the storage does all that is asked of it."""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime
from typing import Final

from roost.contracts.storage import StorageCheck
from roost.errors import RoostError
from roost.services.clock import Clock
from roost.storage.signed import PROBES, ArtifactSigner
from roost.storage.store import ObjectStore

_BYTES: Final = b"a trial of the storage\n"
_NAME: Final = hashlib.sha256(_BYTES).hexdigest()


class StorageTrial:
    """Tries the storage with the server's own credentials."""

    def __init__(self, store: ObjectStore, signer: ArtifactSigner, clock: Clock) -> None:
        self._store = store
        self._signer = signer
        self._clock = clock

    def check(self) -> StorageCheck:
        """Store, list, read and delete one small object; a storage that fails is described, not raised."""
        path, step = f"{PROBES}/{uuid.uuid4().hex}", "store"
        try:
            self._store.put(path, _BYTES)
            now = self._clock.now()
            step = "list"
            seen = [info.modified for info in self._store.list_infos(PROBES) if info.path == path]
            step = "read"
            if self._store.get(path) != _BYTES or not seen:
                return StorageCheck(problem="It lost or altered an object that was stored a moment ago.")
            step = "delete"
            self._store.delete(path)
        except RoostError as error:
            problem = f"It cannot {step} an object: {error.message}"
            return StorageCheck(problem=problem, hint=error.hint or "")
        return StorageCheck(
            clock_ahead_s=_ahead(seen[0], now),
            signed_reads=self._signer.sign("chunks", [_NAME], "GET").urls is not None,
            signed_writes=self._signer.sign("chunks", [_NAME], "PUT").urls is not None,
        )


def _ahead(modified: datetime, now: datetime) -> float:
    return round((modified - now).total_seconds(), 1)
