"""A file that one process at a time holds. The kernel frees it when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """A lock on `path`; in the file its holder says who it is. Not for threads of one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self, content: str) -> bool:
        """Hold it and write `content`; False when another process has it.

        Raises:
            OSError: the file or its folder cannot be made.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = self._open()
        while _lock(descriptor):
            if _is_at(descriptor, self.path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, content.encode(), 0)
                self._descriptor = descriptor
                return True
            # Its holder has removed it between our opening and our locking.
            os.close(descriptor)
            descriptor = self._open()
        os.close(descriptor)
        return False

    def is_free(self) -> bool:
        """Whether nobody holds it now."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            return _lock(descriptor)
        finally:
            os.close(descriptor)

    def find_content(self) -> bytes | None:
        """What the last holder wrote; None when that cannot be read."""
        try:
            return self.path.read_bytes()
        except OSError:
            return None

    def release(self, *, remove: bool = False) -> None:
        """Give it back, and with `remove` leave no file; again and again is no error."""
        if self._descriptor is not None:
            if remove:
                self.path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
