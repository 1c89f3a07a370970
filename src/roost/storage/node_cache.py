"""One copy of weights and bundles a node, shared by all its processes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from roost.contracts.artifact import ArtifactKind
from roost.errors import BadRequest
from roost.storage.artifacts import ArtifactStore, check_name
from roost.storage.cache_entry import CacheEntry, list_entries, partial_tree, write_index
from roost.storage.download import disk_errors, fetch_manifest, fill_tree
from roost.storage.durable import flush_file_system
from roost.storage.local_tree import publish, remove_tree, seal
from roost.storage.locks import exclusive, share_until_exit, try_exclusive
from roost.storage.transfer import Progress

UNFINISHED_KEPT_S: Final = 24 * 3600.0
"""How long what a killed download wrote is kept for the next attempt."""


class NodeCache:
    """A directory of read-only trees, each downloaded once however many processes ask for it.

    What a process was given stays until the process ends; other entries are removed, the longest unused
    first, before a new one would not fit into the bound or onto the disk. An entry found truncated or
    altered is made anew. What a killed download wrote is gone on with, by whoever wants the entry next.

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

        def make(entry: CacheEntry) -> None:
            manifest = fetch_manifest(digest, artifacts)
            self._make_room(max(0, manifest.size_bytes - entry.partial_bytes()))
            with disk_errors(entry.tree):
                fill_tree(manifest, artifacts, partial_tree(entry.partial), progress=progress)

        return self._get("manifests", digest, make)

    def bundle(
        self, fingerprint: str, artifacts: ArtifactStore, unpack: Callable[[bytes, Path], None]
    ) -> Path:
        """The read-only directory of the bundle's code; `unpack` verifies the bytes and makes the directory.

        Raises:
            InvalidName, ArtifactNotFound, Unavailable: when it cannot be fetched; and what `unpack` raises.
        """

        def make(entry: CacheEntry) -> None:
            tree = partial_tree(entry.partial)
            remove_tree(tree)
            data = artifacts.get("bundles", fingerprint)
            self._make_room(len(data))
            try:
                unpack(data, tree)
            except BaseException:
                remove_tree(tree)
                raise
            seal(tree)
            flush_file_system(tree)

        return self._get("bundles", fingerprint, make)

    def _get(self, kind: ArtifactKind, name: str, make: Callable[[CacheEntry], None]) -> Path:
        entry = CacheEntry(self.root, kind, check_name(kind, name))
        # From here on nobody removes the entry, whoever makes it.
        share_until_exit(entry.use_lock)
        if entry.is_intact():
            return entry.tree
        with exclusive(entry.write_lock):
            if not entry.is_intact():
                _make(entry, make)
        return entry.tree

    def _make_room(self, incoming: int) -> None:
        """Remove unused entries, the longest unused first, until `incoming` more bytes fit."""
        entries = sorted(list_entries(self.root), key=CacheEntry.last_use)
        for entry in entries:
            _tidy(entry)
        sizes = {entry: entry.size_bytes() + entry.partial_bytes() for entry in entries}
        bound = self._max_bytes if self._max_bytes is not None else default_max_bytes(self.root)
        over = max(sum(sizes.values()) - bound, -shutil.disk_usage(self.root).free) + incoming
        for entry in entries:
            if over > 0 and sizes[entry] and _remove_unused(entry):
                over -= sizes[entry]


def default_cache_dir() -> Path:
    """ROOST_CACHE_DIR, or `cache` in ROOST_HOME, which is `~/.roost` unless it is set."""
    configured = os.environ.get("ROOST_CACHE_DIR")
    if configured:
        return Path(configured).expanduser()
    return Path(os.environ.get("ROOST_HOME") or "~/.roost").expanduser() / "cache"


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


def _make(entry: CacheEntry, make: Callable[[CacheEntry], None]) -> None:
    entry.remove_leftovers()
    entry.partial.mkdir(parents=True, exist_ok=True)
    try:
        make(entry)
        write_index(entry.partial)
        # Altered since it was made, if it is there.
        entry.remove_published()
        publish(entry.partial, entry.path)
    finally:
        if entry.partial.exists() and not any(entry.partial.iterdir()):
            entry.partial.rmdir()


def _tidy(entry: CacheEntry) -> None:
    """Remove what killed processes left of the entry; what can be gone on with stays for a day."""
    with try_exclusive(entry.write_lock) as ours:
        if ours:
            entry.remove_leftovers()
            if entry.last_use() < time.time() - UNFINISHED_KEPT_S:
                remove_tree(entry.partial)


def _remove_unused(entry: CacheEntry) -> bool:
    with try_exclusive(entry.write_lock) as writing, try_exclusive(entry.use_lock) as using:
        if writing and using:
            entry.remove()
        return writing and using
