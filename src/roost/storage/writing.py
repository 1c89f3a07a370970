"""Writing the bytes of chunks into a tree, and finding what an earlier attempt wrote."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

from roost.storage.artifacts import sha256
from roost.storage.durable import begin_flush
from roost.storage.local_tree import unseal, walk
from roost.storage.manifest import Manifest
from roost.storage.placement import Place, StoredChunk

_LARGE_RUN: Final = 1024 * 1024
"""Below this many bytes the disk is not told to begin: it has more to gain from many files at once."""


class TreeWriter:
    """Fills the directory `root` with the files of a manifest. `write` and `holds` are thread-safe."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self._root = root
        self._manifest = manifest
        self._lock = threading.Lock()
        self._modes = {file.path: 0o755 if file.executable else 0o644 for file in manifest.files}

    def written_bytes(self) -> int:
        """Bytes on the disk below the root."""
        if not self._root.is_dir():
            return 0
        return sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in walk(self._root))

    def prepare(self) -> bool:
        """Make all directories and the empty files; True when an earlier attempt left some bytes."""
        resumed = self._root.is_dir()
        if resumed:
            self._clear_strangers()
        self._root.mkdir(exist_ok=True)
        directories = {os.path.dirname(path) for path in self._modes} | set(self._manifest.directories)  # noqa: PTH120
        for directory in directories:
            (self._root / directory).mkdir(parents=True, exist_ok=True)
        for file in self._manifest.files:
            if not file.size:
                os.close(self._open(file.path))
        return resumed

    def holds(self, chunk: StoredChunk) -> bool:
        """Whether every place of the chunk has its bytes already."""
        found = bytearray()
        for place in chunk.places:
            data = self._read(place)
            start, end = place.run.offset, place.run.end
            if start == len(found):
                found += data
            if found[start:end] != data or len(data) != place.run.size:
                return False
        return len(found) == chunk.size and sha256(found) == chunk.sha256

    def write(self, chunk: StoredChunk, data: bytes) -> None:
        """Write the chunk's bytes, which are `data`, to all their places."""
        view = memoryview(data)
        for place in chunk.places:
            descriptor = self._open(place.path)
            try:
                # One at a time: the kernel lets only one write to a file, and the others would spin.
                with self._lock:
                    _write_all(descriptor, view[place.run.offset : place.run.end], place.offset)
                if place.run.size >= _LARGE_RUN:
                    begin_flush(descriptor, place.offset, place.run.size)
            finally:
                os.close(descriptor)

    def link(self) -> None:
        """Make the links."""
        for link in self._manifest.links:
            path = self._root / link.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(link.target)

    def _clear_strangers(self) -> None:
        """Remove what could be in the way, links above all, and make the rest writable."""
        unseal(self._root)
        sizes = {file.path: file.size for file in self._manifest.files}
        for entry in walk(self._root):
            path = os.path.relpath(entry.path, self._root)
            is_file = entry.is_file(follow_symlinks=False)
            if not is_file or entry.stat(follow_symlinks=False).st_size > sizes.get(path, -1):
                os.unlink(entry.path)  # noqa: PTH108
            else:
                os.chmod(entry.path, self._modes[path])  # noqa: PTH101

    def _open(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(self._root / path, flags, self._modes[path])

    def _read(self, place: Place) -> bytes:
        try:
            descriptor = os.open(self._root / place.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return b""
        try:
            return os.pread(descriptor, place.run.size, place.offset)
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written
