"""Where the bytes of each stored chunk belong in a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.storage.manifest import Chunk, Manifest

_PATHS_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where one run of a chunk's bytes belongs: at `offset` of the file at `path`."""

    path: str
    offset: int
    run: Chunk


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as storage has it, and every place in the tree that needs bytes of it.

    Attributes:
        size: Bytes of the whole chunk.
        places: In the order of the chunk's bytes.
    """

    sha256: str
    size: int
    places: list[Place]

    @property
    def placed_bytes(self) -> int:
        """Bytes of the tree that come from this chunk."""
        return sum(place.run.size for place in self.places)

    @property
    def shown(self) -> str:
        """The files it is part of, for a message."""
        paths = list(dict.fromkeys(place.path for place in self.places))
        text = ", ".join(map(repr, paths[:_PATHS_SHOWN]))
        more = len(paths) - _PATHS_SHOWN
        return f"{text} and {more} more" if more > 0 else text


def chunks_of(manifest: Manifest) -> list[StoredChunk]:
    """Every chunk of the tree once, in the order in which the files need them."""
    sizes = manifest.chunk_sizes()
    places: dict[str, list[Place]] = {name: [] for name in sizes}
    for file in manifest.files:
        offset = 0
        for run in file.chunks:
            places[run.sha256].append(Place(file.path, offset, run))
            offset += run.size
    return [
        StoredChunk(name, size, sorted(places[name], key=lambda place: place.run.offset))
        for name, size in sizes.items()
    ]
