"""How this process reaches the artifacts: the nearest way that leads to the server's own storage.

1. The server's folder, where it is this machine's, too.
2. The bucket, where the environment has credentials for it.
3. The bucket by URLs that the server signs.
4. Through the server.

A folder or bucket is taken for the server's only when it holds the server's storage id.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from roost.client import Client, RemoteArtifacts
from roost.client.object_transfer import ObjectTransfer
from roost.client.signed_artifacts import SignedArtifacts
from roost.contracts.artifact import ArtifactKind
from roost.contracts.info import StorageInfo
from roost.errors import RoostError, StorageDenied
from roost.storage.artifacts import ArtifactStore, StoredArtifacts
from roost.storage.backends import BRIEF, BUCKET_SCHEMES, has_credentials
from roost.storage.manifest import Manifest
from roost.storage.store import ObjectStore

Way = Literal["folder", "bucket", "signed URLs", "server"]


def open_artifacts(client: Client, storage: StorageInfo) -> ArtifactStore:
    """The artifacts of the server, by the nearest way."""
    way = find_way(storage)
    if way == "folder":
        return StoredArtifacts(ObjectStore.open(storage.url))
    if way == "server":
        return RemoteArtifacts(client)
    signed = SignedArtifacts(client, _chunk_names, _transfer())
    if way == "signed URLs":
        return signed
    return DirectFirst(StoredArtifacts(ObjectStore.open(storage.url)), signed)


def find_way(storage: StorageInfo) -> Way:
    """Which way leads to this storage from here. A bucket is asked once a process and set of credentials."""
    parts = urlsplit(storage.url)
    if parts.scheme == "file" and Path(unquote(parts.path)).is_dir():
        return "folder" if _has_id(storage, ObjectStore.open(storage.url)) else "server"
    if parts.scheme not in BUCKET_SCHEMES:
        return "server"
    if has_credentials(storage.url) and _is_same_bucket(storage.url, storage.storage_id, _bucket_settings()):
        return "bucket"
    return "signed URLs"


class DirectFirst:
    """Artifacts in a bucket whose credentials here may cover less than the server's, such as only reading."""

    def __init__(self, direct: ArtifactStore, otherwise: ArtifactStore) -> None:
        self._direct = direct
        self._otherwise = otherwise

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        """The names that are not stored."""
        try:
            return self._direct.missing(kind, names)
        except StorageDenied:  # of what is to be brought back from the trash
            return self._otherwise.missing(kind, names)

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Store one artifact."""
        try:
            self._direct.put(kind, name, data)
        except StorageDenied:
            self._otherwise.put(kind, name, data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        """One artifact, verified."""
        try:
            return self._direct.get(kind, name)
        except StorageDenied:
            return self._otherwise.get(kind, name)


def _has_id(storage: StorageInfo, store: ObjectStore) -> bool:
    try:
        return store.find_storage_id() == storage.storage_id
    except (RoostError, OSError, UnicodeDecodeError):
        return False


@lru_cache(maxsize=16)
def _is_same_bucket(url: str, storage_id: str, _settings: tuple[tuple[str, str], ...]) -> bool:
    try:
        store = ObjectStore.open(url, BRIEF)
    except RoostError:
        return False
    return _has_id(StorageInfo(url=url, storage_id=storage_id), store)


def _bucket_settings() -> tuple[tuple[str, str], ...]:
    prefixes = ("AWS_", "GOOGLE_", "AZURE_")
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(prefixes)))


def _chunk_names(data: bytes) -> Iterable[str]:
    return Manifest.decode(data).chunk_sizes()


@lru_cache(maxsize=1)
def _transfer() -> ObjectTransfer:
    transfer = ObjectTransfer()
    atexit.register(transfer.close)
    return transfer
