"""Which chunks the weights that are referred to consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from roost.errors import ArtifactNotFound, InvalidWeights
from roost.storage.artifacts import artifact_path, sha256
from roost.storage.manifest import Manifest
from roost.storage.store import ObjectStore
from roost.storage.trash import trash_path

_READERS: Final = 8
_AT_ONCE: Final = 64


class NeededChunks:
    """Reads each manifest once, wherever it lies, and changes nothing in storage."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._chunks: dict[str, frozenset[str]] = {}
        self.unreadable: set[str] = set()
        """Digests of manifests that are missing or altered: what they consist of is not known."""

    def of(self, digests: Iterable[str], between: Callable[[], None]) -> set[str]:
        """The names of all chunks of these weights.

        Args:
            between: Called now and then; what it raises ends the reading.

        Raises:
            Unavailable: the storage does not answer.
        """
        wanted = sorted(set(digests))
        fresh = [digest for digest in wanted if digest not in self._chunks]
        with ThreadPoolExecutor(_READERS, thread_name_prefix="roost-garbage") as pool:
            for start in range(0, len(fresh), _AT_ONCE):
                between()
                some = fresh[start : start + _AT_ONCE]
                for digest, manifest in zip(some, pool.map(self._read, some), strict=True):
                    if manifest is None:
                        self.unreadable.add(digest)
                    else:
                        self.unreadable.discard(digest)
                        self._chunks[digest] = frozenset(manifest.chunk_names())
        return {name for digest in wanted for name in self._chunks.get(digest, ())}

    def _read(self, digest: str) -> Manifest | None:
        path = artifact_path("manifests", digest)
        # In its place last: whoever needs it may be bringing it back.
        for place in (path, trash_path(path), path):
            try:
                data = self._store.get(place)
                if sha256(data) == digest:
                    return Manifest.decode(data)
            except (ArtifactNotFound, InvalidWeights):
                continue
        return None
