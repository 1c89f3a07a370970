"""One entry of a node's cache: a sealed tree and the index it is checked against."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.contracts.artifact import ArtifactKind
from roost.storage.durable import fsync_path
from roost.storage.local_tree import partial_sibling, remove_tree, removed_sibling, removed_siblings, walk

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
    def partial(self) -> Path:
        """Where the entry is made; what a killed writer left there is gone on with."""
        return partial_sibling(self.path)

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
        files = self._find_index()
        if files is None:
            return False
        tree = f"{self.tree}/"
        try:
            return all(_state(os.lstat(tree + path)) == state for path, state in files.items())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def size_bytes(self) -> int:
        """Bytes of its files; 0 when there is no entry."""
        return sum(size for size, _ in (self._find_index() or {}).values())

    def partial_bytes(self) -> int:
        """Bytes on the disk of an entry that is not finished."""
        if not self.partial.is_dir():
            return 0
        return sum(found.stat(follow_symlinks=False).st_blocks * 512 for found in walk(self.partial))

    def last_use(self) -> float:
        """Seconds since the epoch; 0 when it was never used."""
        return self.use_lock.stat().st_mtime if self.use_lock.exists() else 0.0

    def remove(self) -> None:
        """Remove the entry, whole or not. Call it, and what follows, under the write lock."""
        self.remove_published()
        remove_tree(self.partial)

    def remove_published(self) -> None:
        """Remove the entry; processes that have its files open keep them."""
        if self.path.exists():
            self.path.rename(removed_sibling(self.path))
        self.remove_leftovers()

    def remove_leftovers(self) -> None:
        """Remove what killed removers left of it."""
        for leftover in removed_siblings(self.path):
            remove_tree(leftover)

    def _find_index(self) -> dict[str, list[int]] | None:
        try:
            files: dict[str, list[int]] = json.loads((self.path / _INDEX).read_bytes())["files"]
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return files


def write_index(partial: Path) -> Path:
    """Record the state of all files of the tree in `partial`, an entry about to be published."""
    tree = partial_tree(partial)
    files = {
        os.path.relpath(found.path, tree): _state(found.stat(follow_symlinks=False)) for found in walk(tree)
    }
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


def _state(found: os.stat_result) -> list[int]:
    return [found.st_size, found.st_mtime_ns]
