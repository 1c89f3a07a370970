"""Objects by path, in a folder or in a bucket."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import AzureStore, GCSStore, LocalStore, S3Store, from_url

from roost.errors import ArtifactNotFound, BadRequest, Unavailable
from roost.storage.durable import STAGING, remove_stale, write_durably

STORAGE_ID: Final = "storage-id"
_BUCKET_SCHEMES: Final = ("s3", "gs", "az", "memory")
_PAGE: Final = 1000

_Backend = obstore.store.ObjectStore


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

    def __init__(self, url: str, backend: _Backend, folder: Path | None) -> None:
        self.url = url
        self._backend = backend
        self._folder = folder
        self._cleaned = False

    @classmethod
    def open(cls, url: str) -> ObjectStore:
        """Open `file:///path`, `s3://bucket/prefix`, `gs://…`, `az://…` or `memory:///`.

        A folder is created when it does not exist. Credentials of a bucket come from its usual
        environment variables.

        Raises:
            BadRequest: the URL is none of these.
            Unavailable: the folder cannot be created.
        """
        parts = urlsplit(url)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
            folder = Path(unquote(parts.path))
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise Unavailable(
                    f"storage folder {str(folder)!r} cannot be created: {error.strerror}."
                ) from error
            return cls(url, LocalStore(folder), folder)
        if parts.scheme not in _BUCKET_SCHEMES:
            raise BadRequest(
                f"storage URL {url!r} is not valid.",
                hint="Write file:///absolute/folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.",
            )
        with _translated(url):
            return cls(url, from_url(url), None)

    def get(self, path: str) -> bytes:
        """The whole object.

        Raises:
            ArtifactNotFound: there is none at `path`.
            Unavailable: the storage does not answer.
        """
        with _translated(path):
            return bytes(obstore.get(self._backend, path).bytes())

    def put(self, path: str, data: bytes) -> None:
        """Store `data`, in place of what was there.

        Raises:
            Unavailable: the storage does not answer, or is full.
        """
        with _translated(path):
            self._write(path, data, overwrite=True)

    def put_new(self, path: str, data: bytes) -> bool:
        """Store `data` unless there is an object at `path`; True when this call stored it."""
        with _translated(path):
            try:
                self._write(path, data, overwrite=False)
            except AlreadyExistsError:
                return False
            return True

    def find_size(self, path: str) -> int | None:
        """Bytes of the object; None when there is none."""
        with _translated(path):
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
        with _translated(prefix or "/"):
            for page in obstore.list(self._backend, prefix or None, chunk_size=_PAGE):
                for item in page:
                    if prefix == STAGING or not item["path"].startswith(f"{STAGING}/"):
                        yield ObjectInfo(item["path"], item["size"], item["last_modified"])

    def sign(self, path: str, method: Literal["GET", "PUT"], expires_s: float) -> str | None:
        """A URL that lets whoever has it read or write this one object; None: this storage cannot sign."""
        if not isinstance(self._backend, (S3Store, GCSStore, AzureStore)):
            return None
        with _translated(path):
            return obstore.sign(self._backend, method, path, timedelta(seconds=expires_s))

    def move(self, path: str, to: str) -> None:
        """Give an object another path, in place of what was there.

        Raises:
            ArtifactNotFound: there is none at `path`.
        """
        with _translated(path):
            obstore.rename(self._backend, path, to)

    def delete(self, path: str) -> None:
        """Remove an object; nothing happens when there is none."""
        with _translated(path):
            try:
                obstore.delete(self._backend, path)
            except (FileNotFoundError, NotFoundError):
                return

    def storage_id(self) -> str:
        """The identity of this storage: made once, the same for everyone who opens it."""
        if not self.exists(STORAGE_ID):
            self.put_new(STORAGE_ID, str(uuid.uuid4()).encode())
        return self.get(STORAGE_ID).decode()

    def _write(self, path: str, data: bytes, *, overwrite: bool) -> None:
        if self._folder is None or not isinstance(self._backend, LocalStore):
            mode: Literal["overwrite", "create"] = "overwrite" if overwrite else "create"
            obstore.put(self._backend, path, data, mode=mode, use_multipart=False)
            return
        if not self._cleaned:
            self._cleaned = True
            remove_stale(self._folder)
        write_durably(self._backend, self._folder, path, data, overwrite=overwrite)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotFoundError) as error:
        raise ArtifactNotFound(f"{path!r} is not in storage.") from error
    except (BaseError, OSError) as error:
        reason = str(error).split("\n", 1)[0]
        raise Unavailable(f"storage failed at {path!r}: {reason}.") from error
