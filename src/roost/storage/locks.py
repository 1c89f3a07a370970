"""Locks between the processes of one machine. The kernel frees them when their holder dies."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_held: dict[Path, int] = {}
_held_lock = threading.Lock()


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for, and hold, the only lock on `path`. Also excludes other threads."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def try_exclusive(path: Path) -> Iterator[bool]:
    """Hold the only lock on `path` when nobody has it; yields whether it is held."""
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def share_until_exit(path: Path) -> None:
    """Hold a shared lock on `path` for as long as this process lives; marks its time of last use."""
    with _held_lock:
        if path not in _held:
            descriptor = _open(path)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            _held[path] = descriptor
        os.utime(_held[path])


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
