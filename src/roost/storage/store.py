"""Objects by path, in a folder or in a bucket."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

import obstore
from obstore.exceptions import AlreadyExistsError, NotFoundError
from obstore.store import AzureStore, GCSStore, LocalStore, S3Store

from roost.storage.aws_signature import bind_bytes
from roost.storage.backends import PATIENT, Backend, Patience, find_secret_key, open_backend
from roost.storage.durable import STAGING, remove_stale, write_durably
from roost.storage.failures import translated

STORAGE_ID: Final = "storage-id"
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object of a listing.

    Attributes:
        size: In bytes.
        modified: When it was stored, or last stored anew; in UTC, by the storage's clock.
    """

    path: str
    size: int
    modified: datetime


class ObjectStore:
    """Objects by path; each is readable whole or not at all.

    Safe to use from several threads and, over one URL, from several processes.
    """

    def __init__(self, url: str, backend: Backend, folder: Path | None) -> None:
        self.url = url
        self._backend = backend
        self._folder = folder
        self._id: str | None = None
        self._secret_key = find_secret_key() if isinstance(backend, S3Store) else None
        self._cleaned = False

    @classmethod
    def open(cls, url: str, patience: Patience = PATIENT) -> ObjectStore:
        """Open `file:///path`, `s3://bucket/prefix`, `gs://…`, `az://…` or `memory:///`.

        A folder is created when it does not exist; a bucket is first asked when it is used. Credentials of
        a bucket come from its usual environment variables. Parts of a URL are percent-decoded.

        Raises:
            BadRequest: the URL is none of these.
            Unavailable: the folder cannot be created.
        """
        backend, folder = open_backend(url, patience)
        return cls(url, backend, folder)

    def get(self, path: str) -> bytes:
        """The whole object.

        Raises:
            ArtifactNotFound: there is none at `path`.
            Unavailable: the storage does not answer.
        """
        with translated(self.url, path):
            return bytes(obstore.get(self._backend, path).bytes())

    def put(self, path: str, data: bytes) -> None:
        """Store `data`, in place of what was there.

        Raises:
            Unavailable: the storage does not answer, or is full.
        """
        with translated(self.url, path):
            self._write(path, data, overwrite=True)

    def put_new(self, path: str, data: bytes) -> bool:
        """Store `data` unless there is an object at `path`; True when this call stored it."""
        with translated(self.url, path):
            try:
                self._write(path, data, overwrite=False)
            except AlreadyExistsError:
                return False
            return True

    def find_size(self, path: str) -> int | None:
        """Bytes of the object; None when there is none."""
        with translated(self.url, path):
            try:
                return obstore.head(self._backend, path)["size"]
            except (FileNotFoundError, NotFoundError):
                return None

    def exists(self, path: str) -> bool:
        """Whether there is an object at `path`."""
        return self.find_size(path) is not None

    def list(self, prefix: str = "") -> Iterator[str]:
        """Paths of all objects in the directory `prefix`, in no order."""
        return (info.path for info in self.list_infos(prefix))

    def list_infos(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """All objects in the directory `prefix`, in no order; read as it is walked, however many.

        What writers have under way in a folder is left out unless `prefix` is `STAGING`.
        """
        with translated(self.url, prefix or "/"):
            for page in obstore.list(self._backend, prefix or None, chunk_size=_PAGE):
                for item in page:
                    if prefix == STAGING or not item["path"].startswith(f"{STAGING}/"):
                        yield ObjectInfo(item["path"], item["size"], item["last_modified"])

    def sign_get(self, paths: Sequence[str], expires_s: float) -> Sequence[str] | None:
        """For each object a URL by which anybody may read it; None: this storage has no such URLs.

        Raises:
            Unavailable: the credentials at hand may not sign.
        """
        if not isinstance(self._backend, (S3Store, GCSStore, AzureStore)):
            return None
        with translated(self.url, paths[0] if paths else ""):
            return obstore.sign(self._backend, "GET", paths, timedelta(seconds=expires_s))

    def sign_put(self, path: str, sha256: str, expires_s: float) -> str | None:
        """A URL by which anybody may store this one object, with bytes of this SHA-256 and no others.

        They come with the headers of `roost.storage.aws_signature.put_headers`. None: this storage has no
        such URLs, or the credentials are those of a machine's role, which are not ours to sign with.
        """
        if not isinstance(self._backend, S3Store) or self._secret_key is None:
            return None
        with translated(self.url, path):
            url = obstore.sign(self._backend, "PUT", path, timedelta(seconds=expires_s))
        return bind_bytes(url, self._secret_key, sha256)

    def move(self, path: str, to: str) -> None:
        """Give an object another path, in place of what was there.

        In a bucket it is copied and then deleted: others may see it at both paths for a moment, and a kill
        between leaves it at both; never at neither.

        Raises:
            ArtifactNotFound: there is none at `path`.
        """
        with translated(self.url, path):
            obstore.rename(self._backend, path, to)

    def put_back(self, path: str, to: str) -> None:
        """As `move`; a bucket, which moves by copying, keeps the object at `path`, too.

        So it never takes away what a third caller has moved to `path` since.

        Raises:
            ArtifactNotFound: there is none at `path`.
        """
        with translated(self.url, path):
            step = obstore.rename if self._folder is not None else obstore.copy
            step(self._backend, path, to)

    def delete(self, path: str) -> None:
        """Remove an object; nothing happens when there is none."""
        with translated(self.url, path):
            try:
                obstore.delete(self._backend, path)
            except (FileNotFoundError, NotFoundError):
                return

    def find_storage_id(self) -> str | None:
        """The identity of this storage; None when it has none yet. Writes nothing."""
        return self.get(STORAGE_ID).decode() if self.exists(STORAGE_ID) else None

    def storage_id(self) -> str:
        """The identity of this storage: made once, the same for everyone who opens it.

        A bucket is asked once; a folder, which may be emptied by hand, each time.
        """
        if self._id is not None:
            return self._id
        if not self.exists(STORAGE_ID):
            self.put_new(STORAGE_ID, str(uuid.uuid4()).encode())
        found = self.get(STORAGE_ID).decode()
        self._id = found if self._folder is None else None
        return found

    def _write(self, path: str, data: bytes, *, overwrite: bool) -> None:
        if self._folder is None or not isinstance(self._backend, LocalStore):
            mode: Literal["overwrite", "create"] = "overwrite" if overwrite else "create"
            obstore.put(self._backend, path, data, mode=mode, use_multipart=False)
            return
        if not self._cleaned:
            self._cleaned = True
            remove_stale(self._folder)
        write_durably(self._backend, self._folder, path, data, overwrite=overwrite)
