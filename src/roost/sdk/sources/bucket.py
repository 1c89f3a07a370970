"""Weights below a prefix of an object store: copied in parallel, in bounded memory, whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import obstore
from obstore.exceptions import BaseError, NotFoundError, PreconditionError

from roost.errors import InvalidWeights, NotFound, Unavailable
from roost.sdk.progress import transfer
from roost.sdk.sources.address import BucketAddress
from roost.sdk.sources.leavable import run_or_leave
from roost.sdk.sources.room import room_for
from roost.storage.backends import Backend, open_backend
from roost.storage.failures import translated
from roost.storage.transfer import WORKERS, Meter, Progress
from roost.storage.tree_paths import check_tree

if TYPE_CHECKING:
    from obstore import GetOptions

PIECE_BYTES: Final = 8 * 1024 * 1024
"""A worker holds one piece at a time."""

_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An object as it was listed."""

    path: str
    size: int
    etag: str | None


@dataclass(frozen=True, slots=True)
class _Piece:
    file: StoredFile
    offset: int
    size: int


@contextmanager
def open_bucket(address: BucketAddress) -> Iterator[Path]:
    """A directory with a copy of all objects below the prefix; removed at the end.

    Credentials come from the object store's usual environment variables.

    Raises:
        InvalidWeights: an object's name can be no path of a tree, or one changed while it was copied.
        NotFound: no object is there.
        Unavailable: the object store does not answer or refuses the credentials, or no disk has room.
    """
    with _as_source(address):
        backend, _ = open_backend(address.url)
        files = list_files(backend, address)
    with room_for(sum(file.size for file in files), str(address)) as directory:
        with _as_source(address), transfer(f"Copying {address}") as progress:
            copy_files(backend, files, directory, progress=progress)
        yield directory


def list_files(backend: Backend, address: BucketAddress) -> list[StoredFile]:
    """All objects below the prefix. What consoles store to show a folder is left out.

    Raises:
        InvalidWeights: their names do not form one tree.
        NotFound: there is none.
    """
    try:
        found = [
            StoredFile(item["path"], item["size"], item["e_tag"])
            for page in obstore.list(backend, chunk_size=_PAGE)
            for item in page
        ]
    except BaseError as error:
        if "invalid path" not in str(error):
            raise
        # obstore itself refuses '..', '.', empty segments and control characters.
        raise InvalidWeights(
            f"an object below {str(address)!r} has a name that is not valid: {_first_line(error)}.",
            hint="Copy the objects to keys that are plain relative paths, and import those.",
        ) from error
    folders = {file.path.rpartition("/")[0] for file in found}
    files = [file for file in found if file.size or file.path not in folders]
    if not files:
        raise NotFound(
            f"there is no object below {str(address)!r}.",
            hint="Give the prefix that holds the model's files, as one gives a folder.",
        )
    check_tree([file.path for file in files], {}, ())
    return files


def copy_files(
    backend: Backend, files: list[StoredFile], directory: Path, *, progress: Progress | None = None
) -> None:
    """Copy the objects into `directory`, which holds none of them yet.

    Raises:
        InvalidWeights: one is not as it was listed.
    """
    for file in files:
        path = directory / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as made:
            made.truncate(file.size)
    meter = Meter(sum(file.size for file in files), progress)

    def copy(piece: _Piece) -> None:
        _write(directory / piece.file.path, piece, _read(backend, piece))
        meter.add(piece.size)

    run_or_leave(copy, list(_pieces(files)), workers=WORKERS, stopped=threading.Event())


def _pieces(files: list[StoredFile]) -> Iterator[_Piece]:
    for file in files:
        for offset in range(0, file.size, PIECE_BYTES):
            yield _Piece(file, offset, min(PIECE_BYTES, file.size - offset))


def _read(backend: Backend, piece: _Piece) -> bytes:
    options: GetOptions = {"range": (piece.offset, piece.offset + piece.size)}
    if piece.file.etag is not None:
        options["if_match"] = piece.file.etag
    try:
        answer = obstore.get(backend, piece.file.path, options=options)
        data = bytes(answer.bytes())
    except (PreconditionError, NotFoundError, FileNotFoundError) as error:
        raise _changed(piece.file) from error
    if answer.meta["size"] != piece.file.size or len(data) != piece.size:
        raise _changed(piece.file)
    return data


def _write(path: Path, piece: _Piece, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "wb") as file:
        file.seek(piece.offset)
        file.write(data)


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rpartition("invalid path: ")[2].rstrip(".")[:300]


def _changed(file: StoredFile) -> InvalidWeights:
    return InvalidWeights(
        f"object {file.path!r} changed while it was copied.",
        hint="Import again when nothing writes below the prefix any more.",
    )


@contextmanager
def _as_source(address: BucketAddress) -> Iterator[None]:
    try:
        with translated(address.url, "/"):
            yield
    except Unavailable as error:
        # Those hints are for Roost's own storage, which is a setting and is written to.
        if "ROOST_STORAGE_URL" in (error.hint or "") or "write" in (error.hint or ""):
            error.hint = "Check the URL, and let the credentials of this environment list and read there."
        raise
