"""Signed URLs of artifacts: a caller without credentials reads and writes the storage itself.

A URL to write is given only for a chunk, whose name is the SHA-256 of its bytes, and only where the storage
refuses other bytes than those it was signed for; so nobody can store wrong bytes under a name that others
rely on (docs/decisions/0015-signed-urls.md).
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from roost.contracts.artifact import ArtifactKind, SignedUrls, UrlMethod
from roost.errors import Unavailable
from roost.hosts import is_loopback
from roost.storage.artifacts import artifact_path, sha256
from roost.storage.aws_signature import put_headers
from roost.storage.store import ObjectStore

_log = logging.getLogger(__name__)

EXPIRES_S: Final = 900.0
PROBES: Final = "probes"
_PROBE_TIMEOUT_S: Final = 10.0


class ArtifactSigner:
    """Signs URLs of artifacts of one storage. Thread-safe.

    Args:
        transport: Another HTTP transport to the storage, for tests.
    """

    def __init__(self, store: ObjectStore, transport: httpx2.BaseTransport | None = None) -> None:
        self._store = store
        self._transport = transport
        self._lock = threading.Lock()
        self._refuses_others: bool | None = None

    def sign(self, kind: ArtifactKind, names: Sequence[str], method: UrlMethod) -> SignedUrls:
        """A URL for each name; without any where this kind of storage, or of artifact, has none.

        Raises:
            InvalidName: a name is not 64 lower-case hex digits.
        """
        paths = {name: artifact_path(kind, name) for name in names}
        try:
            return self._to_read(paths) if method == "GET" else self._to_write(kind, paths)
        except Unavailable as error:
            _log.warning("No URLs could be signed; artifacts go through this server: %s", error)
            return SignedUrls(urls=None, expires_s=EXPIRES_S)

    def _to_read(self, paths: dict[str, str]) -> SignedUrls:
        signed = self._store.sign_get(list(paths.values()), EXPIRES_S)
        urls = None if signed is None else dict(zip(paths, signed, strict=True))
        return SignedUrls(urls=urls, expires_s=EXPIRES_S)

    def _to_write(self, kind: ArtifactKind, paths: dict[str, str]) -> SignedUrls:
        if kind != "chunks" or not self._can_put():
            return SignedUrls(urls=None, expires_s=EXPIRES_S)
        signed = {name: self._store.sign_put(path, name, EXPIRES_S) for name, path in paths.items()}
        urls = {name: url for name, url in signed.items() if url is not None}
        return SignedUrls(urls=urls, headers={name: put_headers(name) for name in urls}, expires_s=EXPIRES_S)

    def _can_put(self) -> bool:
        """Whether the storage refuses bytes that a URL was not signed for. Tried once."""
        with self._lock:
            if self._refuses_others is None:
                self._refuses_others = self._probe()
            return bool(self._refuses_others)

    def _probe(self) -> bool | None:
        """Store other bytes than were signed for; None when the storage does not answer."""
        path, wanted, other = f"{PROBES}/{uuid.uuid4().hex}", b"wanted", b"other!"
        url = self._store.sign_put(path, sha256(wanted), 60.0)
        if url is None:
            return False
        options: dict[str, Any] = {
            "transport": self._transport,
            "timeout": _PROBE_TIMEOUT_S,
            "trust_env": not is_loopback(urlsplit(url).hostname),
        }
        try:
            with httpx2.Client(**options) as http:
                answers = [
                    http.put(url, content=data, headers=put_headers(sha256(wanted)))
                    for data in (other, wanted)
                ]
        except httpx2.TransportError as error:
            _log.warning("Signed uploads were not tried: %s", error)
            return None
        self._store.delete(path)
        refused, taken = (answer.is_success for answer in answers)
        if not refused and taken:
            return True
        _log.warning(
            "The storage %r %s; chunks are uploaded through this server",
            self._store.url,
            "takes other bytes than were signed for" if refused else "refuses signed uploads",
        )
        return False
