"""Directories that are written once: sealed read-only, published by a rename, removed whole."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.storage.durable import fsync_path

PARTIAL_SUFFIX: Final = ".partial"
_REMOVED_SUFFIX: Final = ".removed"


def partial_sibling(target: Path) -> Path:
    """The hidden name beside `target` of what is not finished; a later attempt finds it there."""
    return target.with_name(f".{target.name}{PARTIAL_SUFFIX}")


def removed_sibling(target: Path) -> Path:
    """A fresh hidden name beside `target` for what is about to be removed."""
    return target.with_name(f".{target.name}.{uuid.uuid4().hex}{_REMOVED_SUFFIX}")


def removed_siblings(target: Path) -> list[Path]:
    """What was about to be removed when its remover was killed."""
    return list(target.parent.glob(f".{target.name}.*{_REMOVED_SUFFIX}"))


def walk(tree: Path | str) -> Iterator[os.DirEntry[str]]:
    """Everything below `tree` but the directories; links are not followed."""
    with os.scandir(tree) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path)
            else:
                yield entry


def seal(tree: Path) -> None:
    """Make everything below `tree`, and itself, read-only."""
    for entry in walk(tree):
        if not entry.is_symlink():
            os.chmod(entry.path, entry.stat().st_mode & 0o555)  # noqa: PTH101  # thousands of files
    for directory, _, _ in os.walk(tree, topdown=False):
        Path(directory).chmod(0o555)


def unseal(tree: Path) -> None:
    """Make `tree` and the directories below it writable."""
    for directory, _, _ in os.walk(tree):
        Path(directory).chmod(0o755)


def publish(partial: Path, target: Path) -> None:
    """Give a finished directory its name, durably."""
    partial.rename(target)
    fsync_path(target.parent)


def remove_tree(tree: Path) -> None:
    """Remove a tree although it is read-only; nothing happens when there is none."""
    if not tree.is_symlink() and tree.is_dir():
        unseal(tree)
        shutil.rmtree(tree)
