"""Directories that are written once: sealed read-only, published by a rename, removed whole."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Final

from roost.storage.durable import fsync_path

PARTIAL_SUFFIX: Final = ".partial"


def partial_sibling(target: Path) -> Path:
    """A fresh name beside `target` for what is not finished."""
    return target.with_name(f".{target.name}.{uuid.uuid4().hex}{PARTIAL_SUFFIX}")


def seal(tree: Path, *, flush_files: bool) -> None:
    """Make everything below `tree`, and itself, read-only, and flush it to the disk.

    Args:
        flush_files: False when the files were flushed as they were written.
    """
    for directory, _, files in os.walk(tree, topdown=False):
        for name in files:
            path = Path(directory, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o555)
                if flush_files:
                    fsync_path(path)
        fsync_path(Path(directory))
        Path(directory).chmod(0o555)


def publish(partial: Path, target: Path) -> None:
    """Give a finished directory its name, durably."""
    partial.rename(target)
    fsync_path(target.parent)


def remove_tree(tree: Path) -> None:
    """Remove a tree although it is read-only; nothing happens when there is none."""
    if not tree.is_symlink() and tree.is_dir():
        for directory, _, _ in os.walk(tree):
            Path(directory).chmod(0o700)
        shutil.rmtree(tree)
