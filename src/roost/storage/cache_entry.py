"""One entry of a node's cache: a sealed tree and the index it is checked against."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.contracts.artifact import ArtifactKind
from roost.storage.durable import fsync_path
from roost.storage.local_tree import PARTIAL_SUFFIX, remove_tree

_TREE: Final = "tree"
_INDEX: Final = "index.json"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """Where the cache below `root` keeps one artifact.

    Attributes:
        kind: `manifests` for weights, `bundles` for code.
    """

    root: Path
    kind: ArtifactKind
    name: str

    @property
    def path(self) -> Path:
        """The directory that is published by one rename."""
        return self.root / self.kind / self.name

    @property
    def tree(self) -> Path:
        """What a caller gets."""
        return self.path / _TREE

    @property
    def write_lock(self) -> Path:
        """Held by the one process that makes, replaces or removes the entry."""
        return self.root / "locks" / f"{self.kind}-{self.name}.lock"

    @property
    def use_lock(self) -> Path:
        """Shared by the processes that use the entry; its mtime is the last use."""
        return self.root / "locks" / f"{self.kind}-{self.name}.use"

    def is_intact(self) -> bool:
        """Whether every file is as it was when the entry was made, by size and time of last write."""
        try:
            index = json.loads((self.path / _INDEX).read_bytes())
            return all(_state(self.tree / path) == state for path, state in index["files"].items())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False

    def size_bytes(self) -> int:
        """Bytes of its files; 0 when there is no entry."""
        try:
            index = json.loads((self.path / _INDEX).read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return 0
        return sum(state[0] for state in index["files"].values())

    def last_use(self) -> float:
        """Seconds since the epoch; 0 when it was never used."""
        return self.use_lock.stat().st_mtime if self.use_lock.exists() else 0.0

    def remove_leftovers(self) -> None:
        """Remove what killed writers left of this entry. Call it under the write lock."""
        for leftover in self.path.parent.glob(f".{self.name}.*{PARTIAL_SUFFIX}"):
            remove_tree(leftover)


def write_index(partial: Path) -> Path:
    """Record the state of all files of the tree in `partial`, an entry about to be published."""
    tree = partial / _TREE
    files = {str(path.relative_to(tree)): _state(path) for path in _files(tree)}
    index = partial / _INDEX
    index.write_text(json.dumps({"files": files}))
    fsync_path(index)
    return index


def partial_tree(partial: Path) -> Path:
    """Where the tree of an entry about to be published is made."""
    return partial / _TREE


def list_entries(root: Path) -> list[CacheEntry]:
    """All published entries below `root`, and those of which only leftovers exist."""
    kinds: tuple[ArtifactKind, ...] = ("manifests", "bundles")
    found = {
        CacheEntry(root, kind, path.name.lstrip(".").split(".")[0])
        for kind in kinds
        for path in _listed(root / kind)
    }
    return sorted(found, key=lambda entry: (entry.kind, entry.name))


def _listed(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def _files(tree: Path) -> Iterator[Path]:
    for directory, directories, files in os.walk(tree):
        links = [name for name in directories if Path(directory, name).is_symlink()]
        yield from (Path(directory, name) for name in (*files, *links))


def _state(path: Path) -> list[int]:
    found = path.lstat()
    return [found.st_size, found.st_mtime_ns]
