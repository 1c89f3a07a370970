"""Content-addressed artifacts: chunks, manifests and bundles by their digest."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, get_args

from roost.contracts.artifact import ArtifactKind
from roost.errors import (
    ArtifactNotFound,
    BadRequest,
    CorruptArtifact,
    InvalidName,
    StorageDenied,
    Unavailable,
)
from roost.storage.manifest import Manifest
from roost.storage.store import ObjectStore
from roost.storage.trash import bring_back, trash_path

_log = logging.getLogger(__name__)

_NAME = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LOOKUPS: Final = 8
_LOOKS: Final = 3
"""How often an object is looked for: what was brought back may be taken for garbage once more by a run
that had listed it before."""

_SINGULAR: Final[dict[str, str]] = {"chunks": "chunk", "manifests": "manifest", "bundles": "bundle"}


class ArtifactStore(Protocol):
    """Where artifacts are kept: storage itself, or the server in front of it. Thread-safe."""

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        """Those of `names` that are not stored."""

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Store one artifact; storing it again changes nothing."""

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        """One artifact; raises ArtifactNotFound or CorruptArtifact, naming it."""


class StoredArtifacts:
    """Artifacts in an object store. Every byte of a chunk or manifest is checked on the way in and out.

    What is asked for and lies in the trash is brought back.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        """Those of `names` that are not stored. An empty object counts as missing: no artifact is empty.

        Raises:
            InvalidName: a name is not 64 lower-case hex digits.
        """
        paths = {name: artifact_path(kind, name) for name in names}
        if len(paths) <= 1:
            return {name for name, path in paths.items() if not self._is_stored(path)}
        with ThreadPoolExecutor(_LOOKUPS) as pool:
            stored = pool.map(self._is_stored, paths.values())
            return {name for name, found in zip(paths, stored, strict=True) if not found}

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Store one artifact. A bundle is opaque here: whoever unpacks it checks its fingerprint.

        Raises:
            InvalidName: the name is not 64 lower-case hex digits.
            BadRequest: the bytes of a chunk or manifest do not have this digest, or there are none.
            InvalidWeights: a manifest that does not describe a tree.
        """
        path = artifact_path(kind, name)
        if not data:
            raise BadRequest(f"{_SINGULAR[kind]} {name!r} has no bytes.")
        if kind != "bundles" and (found := sha256(data)) != name:
            raise BadRequest(
                f"{_SINGULAR[kind]} {name!r} was sent with bytes whose SHA-256 is {found!r}.",
                hint="The bytes were altered on the way; send them again.",
            )
        if kind == "manifests":
            Manifest.decode(data)
        self._store.put(path, data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        """One artifact. A chunk or manifest that was altered in storage is set aside, so that saving
        the same weights again stores it anew.

        Raises:
            InvalidName: the name is not 64 lower-case hex digits.
            ArtifactNotFound: it is not stored.
            CorruptArtifact: the stored bytes do not have the digest they are named by.
        """
        path = artifact_path(kind, name)
        try:
            data = self._read(path)
        except ArtifactNotFound as error:
            if self._store.exists(_aside(path)):
                raise _corrupt(kind, name, "its stored bytes were altered or truncated") from error
            raise ArtifactNotFound(
                f"{_SINGULAR[kind]} {name!r} is not in storage.",
                hint="Save the model again to store it anew.",
            ) from error
        # A fault on the way is no fault of the object: look twice before setting it aside.
        if kind == "bundles" or sha256(data) == name or sha256(data := self._read(path)) == name:
            return data
        self._set_aside(path, name)
        raise _corrupt(kind, name, f"its {len(data)} stored bytes have another SHA-256")

    def _is_stored(self, path: str) -> bool:
        if self._store.find_size(path):
            return True
        # Another caller may be bringing it back at the same time.
        return bring_back(self._store, path) or bool(self._store.find_size(path))

    def _read(self, path: str) -> bytes:
        for _ in range(_LOOKS):
            try:
                return self._store.get(path)
            except ArtifactNotFound:
                try:
                    if not bring_back(self._store, path):
                        break
                except StorageDenied:  # the credentials here cover reading only
                    return self._store.get(trash_path(path))
        return self._store.get(path)

    def _set_aside(self, path: str, name: str) -> None:
        try:
            self._store.move(path, _aside(path))
            # Of what was brought back, a bucket still has the source.
            if self._store.exists(trash_path(path)) and sha256(self._store.get(trash_path(path))) != name:
                self._store.delete(trash_path(path))
        except (ArtifactNotFound, Unavailable) as error:
            _log.warning("corrupt object %r could not be set aside: %s", path, error)


class _Hashed(threading.local):
    """What this thread hashed last. A chunk is checked by all it passes through: its reader, storage, its
    writer; as long as that is one object, which cannot change, once is enough."""

    data = b""
    name = hashlib.sha256(b"").hexdigest()


_hashed = _Hashed()


def sha256(data: bytes | bytearray) -> str:
    """SHA-256 as 64 lower-case hex digits."""
    if not isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    if data is not _hashed.data:
        _hashed.data, _hashed.name = data, hashlib.sha256(data).hexdigest()
    return _hashed.name


def forget_hashed() -> None:
    """Let go of the bytes that this thread hashed last. For who waits for others next."""
    _hashed.data, _hashed.name = _Hashed.data, _Hashed.name


def check_name(kind: str, name: str) -> str:
    """Return `name` when it may name an artifact of this kind.

    Raises:
        InvalidName: naming what is wrong.
    """
    if kind not in get_args(ArtifactKind):
        raise InvalidName(
            f"artifact kind {kind!r} is not valid: it is one of {', '.join(get_args(ArtifactKind))}."
        )
    if not _NAME.fullmatch(name):
        raise InvalidName(
            f"{_SINGULAR[kind]} name {name[:80]!r} is not valid: it must be 64 lower-case hex digits."
        )
    return name


def artifact_path(kind: ArtifactKind, name: str) -> str:
    """Where storage keeps an artifact.

    Raises:
        InvalidName: the name is not 64 lower-case hex digits.
    """
    check_name(kind, name)
    if kind == "chunks":
        return f"chunks/{name[:2]}/{name}"
    return f"manifests/{name}.json" if kind == "manifests" else f"bundles/{name}.zip"


def _aside(path: str) -> str:
    return f"corrupt/{path}"


def _corrupt(kind: ArtifactKind, name: str, what: str) -> CorruptArtifact:
    return CorruptArtifact(
        f"{_SINGULAR[kind]} {name!r} is corrupt: {what}.", hint="Save the model again to store it anew."
    )
