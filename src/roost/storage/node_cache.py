"""One copy of weights and bundles a node, shared by all its processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from roost.contracts.artifact import ArtifactKind
from roost.errors import BadRequest
from roost.storage.artifacts import ArtifactStore, check_name
from roost.storage.cache_entry import CacheEntry, list_entries, partial_tree, write_index
from roost.storage.download import download_tree
from roost.storage.local_tree import partial_sibling, publish, remove_tree, seal
from roost.storage.locks import exclusive, share_until_exit, try_exclusive
from roost.storage.transfer import Progress


class NodeCache:
    """A directory of read-only trees, each downloaded once however many processes ask for it.

    What a process was given stays until the process ends; other entries are removed, the longest unused
    first, when the cache grows over its bound. An entry found truncated or altered is made anew.

    Args:
        root: The cache's directory; made when needed. On a file system with working `flock`.
        max_bytes: The bound; by default ROOST_CACHE_MAX_GB, else half of the disk.
    """

    def __init__(self, root: Path, *, max_bytes: int | None = None) -> None:
        self.root = root
        self._max_bytes = max_bytes

    def weights(self, digest: str, artifacts: ArtifactStore, progress: Progress | None = None) -> Path:
        """The read-only directory of the weights `digest`, downloaded and verified when it is not here yet.

        Raises:
            InvalidName, ArtifactNotFound, CorruptArtifact, Unavailable: as `download_tree`.
        """
        return self._get(
            "manifests", digest, lambda tree: download_tree(digest, artifacts, tree, progress=progress)
        )

    def bundle(
        self, fingerprint: str, artifacts: ArtifactStore, unpack: Callable[[bytes, Path], None]
    ) -> Path:
        """The read-only directory of the bundle's code; `unpack` verifies the bytes and makes the directory.

        Raises:
            InvalidName, ArtifactNotFound, Unavailable: when it cannot be fetched; and what `unpack` raises.
        """
        return self._get(
            "bundles", fingerprint, lambda tree: _unpack(artifacts.get("bundles", fingerprint), tree, unpack)
        )

    def _get(self, kind: ArtifactKind, name: str, make: Callable[[Path], object]) -> Path:
        entry = CacheEntry(self.root, kind, check_name(kind, name))
        # From here on nobody removes the entry, whoever makes it.
        share_until_exit(entry.use_lock)
        if entry.is_intact():
            return entry.tree
        with exclusive(entry.write_lock):
            if entry.is_intact():
                return entry.tree
            entry.remove_leftovers()
            _make(entry, make)
        self._clean()
        return entry.tree

    def _clean(self) -> None:
        """Remove leftovers of killed downloads, then unused entries while the cache is over its bound."""
        entries = sorted(list_entries(self.root), key=CacheEntry.last_use)
        for entry in entries:
            with try_exclusive(entry.write_lock) as ours:
                if ours:
                    entry.remove_leftovers()
        bound = self._max_bytes if self._max_bytes is not None else default_max_bytes(self.root)
        sizes = {entry: entry.size_bytes() for entry in entries}
        total = sum(sizes.values())
        for entry in entries:
            if total > bound and sizes[entry] and _remove_unused(entry):
                total -= sizes[entry]


def default_cache_dir() -> Path:
    """ROOST_CACHE_DIR, or `~/.roost/cache`."""
    configured = os.environ.get("ROOST_CACHE_DIR")
    return Path(configured).expanduser() if configured else Path.home() / ".roost" / "cache"


def default_max_bytes(root: Path) -> int:
    """ROOST_CACHE_MAX_GB, or half of the disk that holds `root`.

    Raises:
        BadRequest: ROOST_CACHE_MAX_GB is not a positive number.
    """
    configured = os.environ.get("ROOST_CACHE_MAX_GB")
    if configured is None:
        return shutil.disk_usage(root).total // 2
    try:
        max_bytes = int(float(configured) * 10**9)
    except (ValueError, OverflowError):
        max_bytes = 0
    if max_bytes <= 0:
        raise BadRequest(
            f"ROOST_CACHE_MAX_GB={configured!r} is not valid: it must be a positive number of gigabytes."
        )
    return max_bytes


def _make(entry: CacheEntry, make: Callable[[Path], object]) -> None:
    entry.path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_sibling(entry.path)
    try:
        partial.mkdir()
        make(partial_tree(partial))
        write_index(partial)
        if entry.path.exists():
            # Altered since it was made. Processes that have its files open keep them.
            entry.path.rename(partial_sibling(entry.path))
        publish(partial, entry.path)
    except BaseException:
        remove_tree(partial)
        raise
    entry.remove_leftovers()


def _unpack(data: bytes, tree: Path, unpack: Callable[[bytes, Path], None]) -> None:
    unpack(data, tree)
    seal(tree, flush_files=True)


def _remove_unused(entry: CacheEntry) -> bool:
    with try_exclusive(entry.write_lock) as writing, try_exclusive(entry.use_lock) as using:
        if writing and using:
            entry.path.rename(partial_sibling(entry.path))
            entry.remove_leftovers()
        return writing and using
