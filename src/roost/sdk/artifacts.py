"""How this process reaches the artifacts: the storage itself where it can, else through the server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from roost.client import Client, RemoteArtifacts
from roost.contracts.info import StorageInfo
from roost.storage.artifacts import ArtifactStore, StoredArtifacts
from roost.storage.store import ObjectStore


def open_artifacts(client: Client, storage: StorageInfo) -> ArtifactStore:
    """Direct access when the server's folder is this machine's too, else pass-through.

    A folder is taken for the server's only when it holds the server's storage id.
    """
    return _direct(storage) or RemoteArtifacts(client)


def _direct(storage: StorageInfo) -> StoredArtifacts | None:
    parts = urlsplit(storage.url)
    if parts.scheme != "file" or not Path(url2pathname(parts.path)).is_dir():
        return None
    try:
        store = ObjectStore.open(storage.url)
        same = store.storage_id() == storage.storage_id
    except OSError:
        return None
    return StoredArtifacts(store) if same else None
