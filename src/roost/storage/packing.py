"""How a tree's bytes are laid out in stored chunks.

A large file is cut every `CHUNK_SIZE` bytes. Small files share chunks, so that thousands of them do not
cost thousands of round trips. Where a shared chunk ends depends on the paths: a change in one small file
changes its own chunk and leaves the others as they are stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from roost.storage.manifest import CHUNK_SIZE

SMALL_FILE: Final = 1024 * 1024
"""Files below this many bytes share chunks. Larger ones stay deduplicated each on its own."""

_FILES_A_CHUNK: Final = 64
"""About how many small files share a chunk; fewer where `CHUNK_SIZE` is reached."""


@dataclass(frozen=True, slots=True)
class Run:
    """`size` bytes of the file at `path`, from `offset` on."""

    path: str
    offset: int
    size: int


def lay_out(sizes: Mapping[str, int]) -> Iterator[tuple[Run, ...]]:
    """The runs of every chunk to be stored; their bytes, one after the other, are the chunk.

    Args:
        sizes: The bytes of each file by its path.
    """
    small: list[str] = []
    for path, size in sizes.items():
        if 0 < size < SMALL_FILE:
            small.append(path)
        else:
            for offset in range(0, size, CHUNK_SIZE):
                yield (Run(path, offset, min(CHUNK_SIZE, size - offset)),)
    shared: list[Run] = []
    total = 0
    for path in sorted(small):
        if shared and total + sizes[path] > CHUNK_SIZE:
            yield tuple(shared)
            shared, total = [], 0
        shared.append(Run(path, 0, sizes[path]))
        total += sizes[path]
        if _ends_a_chunk(path):
            yield tuple(shared)
            shared, total = [], 0
    if shared:
        yield tuple(shared)


def _ends_a_chunk(path: str) -> bool:
    # Any even spread of the paths does, as long as it is the same everywhere.
    return zlib.crc32(path.encode()) % _FILES_A_CHUNK == 0
