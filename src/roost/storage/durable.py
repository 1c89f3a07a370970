"""Writing so that neither a kill nor a power cut leaves half a file readable.

obstore's own put into a folder is atomic (a staged file, then a rename) but is not flushed to the disk
first, and a killed writer's staged file stays beside the objects. So an object is staged in one
directory, flushed, and then renamed into place; what a killed writer left is found in that directory.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
import uuid
from pathlib import Path
from typing import Final

import obstore
from obstore.store import LocalStore

STAGING: Final = "incoming"
STALE_AFTER_S: Final = 3600.0

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_SYNC_FILE_RANGE_WRITE: Final = 2
"""From <linux/fs.h>: begin to write these pages, wait for none."""


def write_durably(store: LocalStore, root: Path, path: str, data: bytes, *, overwrite: bool) -> None:
    """Store `data` at `path` below `root`; when this returns it survives a power cut.

    Raises:
        obstore.exceptions.AlreadyExistsError: `overwrite` is False and there is an object at `path`.
    """
    staged = f"{STAGING}/{uuid.uuid4().hex}"
    try:
        _write_file(root / staged, data)
        obstore.rename(store, staged, path, overwrite=overwrite)
    except BaseException:
        (root / staged).unlink(missing_ok=True)
        raise
    fsync_path((root / path).parent)


def remove_stale(root: Path, *, older_than_s: float = STALE_AFTER_S) -> None:
    """Remove the staged files of writers that were killed; a live writer's file is younger."""
    newest = time.time() - older_than_s
    for staged in (root / STAGING).glob("*"):
        # Another process may clean at the same time.
        with contextlib.suppress(FileNotFoundError):
            if staged.stat().st_mtime < newest:
                staged.unlink()


def fsync_path(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_file_system(path: Path) -> None:
    """Flush all that was written to the file system of `path`: for thousands of files far less work
    than flushing each."""
    syncfs = getattr(_LIBC, "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if syncfs(descriptor):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))
    finally:
        os.close(descriptor)


def begin_flush(descriptor: int, offset: int, size: int) -> None:
    """Let the disk begin with these bytes of a file, so that a later flush finds less to do.

    A hint: where the system has no such call, or refuses it, nothing happens.
    """
    begin = getattr(_LIBC, "sync_file_range", None)
    if begin is not None:
        begin(descriptor, ctypes.c_int64(offset), ctypes.c_int64(size), _SYNC_FILE_RANGE_WRITE)


def _write_file(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o644)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fsync(descriptor)
