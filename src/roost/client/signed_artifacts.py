"""Artifacts straight from and to a bucket, by URLs that the server signs: no credentials are needed here."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from roost.client import control_calls
from roost.client.artifacts import RemoteArtifacts
from roost.client.object_transfer import ObjectTransfer
from roost.client.signed_urls import UrlBook
from roost.client.sync_client import Client
from roost.contracts.artifact import ArtifactKind, UrlMethod
from roost.errors import ArtifactNotFound, Forbidden, Unavailable

_log = logging.getLogger(__name__)

Used = TypeVar("Used")


class SignedArtifacts:
    """The storage room's `ArtifactStore`: by signed URLs, and through the server where that does not work.

    A storage that cannot be reached from here, or refuses the URLs, is left alone from then on.

    Args:
        chunk_names: Reads the names of a manifest's chunks, so that their URLs come many at a time.
        transfer: The connections to the storage.
    """

    def __init__(
        self,
        client: Client,
        chunk_names: Callable[[bytes], Iterable[str]],
        transfer: ObjectTransfer,
    ) -> None:
        self._server = RemoteArtifacts(client)
        self._chunk_names = chunk_names
        self._transfer = transfer
        self._urls = UrlBook(lambda kind, names, way: client.run(control_calls.sign_urls(kind, names, way)))
        self._away = threading.Event()

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        """The names that are not stored yet, as the server sees it."""
        return self._server.missing(kind, names)

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Store one artifact; the storage itself, or the server, verifies its digest."""

        def send(url: str, headers: dict[str, str]) -> bool:
            self._transfer.put(url, data, headers)
            return True

        if not self._try(kind, "PUT", name, send):
            self._server.put(kind, name, data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        """Read one artifact, verified where its name is a digest.

        Raises:
            ArtifactNotFound: naming it.
            CorruptArtifact: when the stored bytes differ from their name.
        """
        data = self._try(kind, "GET", name, lambda url, _headers: self._transfer.get(url))
        if data is None or not _is_whole(kind, name, data):
            # The server looks twice, brings back what went, and says what is wrong.
            data = self._server.get(kind, name)
        if kind == "manifests" and _is_whole(kind, name, data):
            self._urls.expect(self._chunk_names(data))
        return data

    def _try(
        self, kind: ArtifactKind, way: UrlMethod, name: str, use: Callable[[str, dict[str, str]], Used]
    ) -> Used | None:
        """What `use` makes of the signed URL; None when there is none, or it does not work."""
        for last in (False, True):
            if self._away.is_set():
                return None
            signed = self._urls.find(kind, way, name)
            if signed is None:
                return None
            try:
                return use(signed.url, signed.headers)
            except ArtifactNotFound:
                return None
            except Forbidden as error:
                # It may have run out while this machine slept: once more, with a new one.
                if last:
                    self._leave(error)
            except Unavailable as error:
                self._leave(error)
        return None

    def _leave(self, error: Exception) -> None:
        if not self._away.is_set():
            self._away.set()
            _log.warning("%s All goes through the server from now on.", error)


def _is_whole(kind: ArtifactKind, name: str, data: bytes) -> bool:
    """Whether these are the bytes of that name. A bundle's name is checked by whoever unpacks it."""
    return kind == "bundles" or hashlib.sha256(data).hexdigest() == name
