"""Reading what a directory of weights holds, before any byte of it is read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from roost.errors import InvalidWeights
from roost.storage.manifest import Link


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was found; any write to it changes this."""

    size: int
    executable: bool
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class TreeScan:
    """A directory as it was found. Two equal scans mean that nothing was written in between.

    Attributes:
        root: The resolved directory.
        files: By path relative to the root.
        directories: The empty ones.
    """

    root: Path
    files: dict[str, FileState]
    links: list[Link]
    directories: list[str]


def scan_tree(root: Path) -> TreeScan:
    """List the tree below `root`; links are not followed.

    Raises:
        InvalidWeights: it is not a directory, holds nothing, cannot be read, or holds what is neither
            a file, a directory nor a link.
    """
    if not root.is_dir():
        what = "is not a directory" if root.exists() else "does not exist"
        raise InvalidWeights(
            f"weights directory {str(root)!r} {what}.", hint="Give the directory that holds the files."
        )
    scan = TreeScan(root.resolve(), {}, [], [])
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        entries = _entries(scan.root / directory)
        if not entries and directory:
            scan.directories.append(directory)
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                _add(scan, path, entry)
    if not scan.files and not scan.links:
        raise _empty(root)
    return scan


def check_scan(scan: TreeScan) -> None:
    """Check that there is a file, and that each link leads to something that does not hold it.

    For links that were checked to stay in the tree.

    Raises:
        InvalidWeights: naming the link and the rule it breaks.
    """
    for link in scan.links:
        place = scan.root / link.path
        try:
            target = place.resolve(strict=True)
        except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before Python 3.13
            is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            raise _bad_link(link, "nothing is there" if is_missing else "it leads to itself") from error
        if place.is_relative_to(target):
            raise _bad_link(link, "it leads to a directory that holds the link")
    if not scan.files:
        raise _empty(scan.root)


def _empty(root: Path) -> InvalidWeights:
    return InvalidWeights(
        f"weights directory {str(root)!r} holds no file.",
        hint="A model without weights is made by register_model().",
    )


def _bad_link(link: Link, rule: str) -> InvalidWeights:
    return InvalidWeights(
        f"link {link.path!r:.120} to {link.target!r:.120} is not valid: {rule}.",
        hint="Remove it from the weights directory, or let it lead to a file there.",
    )


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise InvalidWeights(f"directory {str(directory)!r} cannot be read: {error.strerror}.") from error


def _add(scan: TreeScan, path: str, entry: os.DirEntry[str]) -> None:
    try:
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            scan.links.append(Link(path=path, target=_relative_target(scan.root, path)))
            return
    except OSError as error:
        raise InvalidWeights(f"file {entry.path!r} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(found.st_mode):
        raise InvalidWeights(
            f"{entry.path!r} is neither a file, a directory nor a link.",
            hint="Remove it from the weights directory.",
        )
    scan.files[path] = FileState(
        size=found.st_size,
        executable=bool(found.st_mode & stat.S_IXUSR),
        mtime_ns=found.st_mtime_ns,
        inode=found.st_ino,
    )


def _relative_target(root: Path, path: str) -> str:
    """The link's own text; an absolute one that leads into the tree is made relative."""
    target = os.readlink(root / path)  # noqa: PTH115  # Path would change the text of "./x"
    if not target.startswith("/"):
        return target
    resolved = Path(os.path.normpath(target))
    return os.path.relpath(resolved, (root / path).parent) if resolved.is_relative_to(root) else target
