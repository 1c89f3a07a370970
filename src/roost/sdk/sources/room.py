"""A temporary directory on a disk with room, for weights on their way into the storage."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from roost.errors import Unavailable
from roost.storage.local_tree import remove_tree
from roost.storage.locks import exclusive, try_exclusive
from roost.storage.node_cache import default_cache_dir

SPARE_BYTES: Final = 256 * 1024 * 1024
"""What is left free on the disk."""

_LOCK: Final = "lock"


@contextmanager
def room_for(size_bytes: int, what: str) -> Iterator[Path]:
    """An empty directory on a disk that has `size_bytes` free; removed at the end, however it ends.

    It lies beside the cache, else in the system's folder for temporary files. What a killed process
    left there is removed, too.

    Raises:
        Unavailable: naming `what`, its size and what is free on each disk.
    """
    parent = _parent_with_room(size_bytes, what)
    with ExitStack() as stack:
        # Nobody takes the new directory for a leftover: it is locked before others look at it.
        with exclusive(parent / _LOCK):
            _remove_leftovers(parent)
            place = Path(tempfile.mkdtemp(dir=parent))
            stack.callback(_remove, place)
            stack.enter_context(exclusive(place / _LOCK))
        directory = place / "weights"
        directory.mkdir()
        yield directory


def _remove(place: Path) -> None:
    # It fails while a thread that was left behind still writes there; the next call removes the rest.
    with suppress(OSError):
        remove_tree(place)


def _parent_with_room(size_bytes: int, what: str) -> Path:
    found: list[str] = []
    for parent in (default_cache_dir() / "imports", Path(tempfile.gettempdir()) / "roost-imports"):
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            free = shutil.disk_usage(parent).free
        except OSError as error:
            found.append(f"{str(parent)!r} cannot be used: {error.strerror}")
            continue
        if free >= size_bytes + SPARE_BYTES:
            return parent
        found.append(f"{_gib(free)} free at {str(parent)!r}")
    raise Unavailable(
        f"{what} needs {_gib(size_bytes)} and {_gib(SPARE_BYTES)} to spare: {'; '.join(found)}.",
        hint="Free some, or set ROOST_CACHE_DIR to a folder on a larger disk.",
    )


def _remove_leftovers(parent: Path) -> None:
    for place in parent.iterdir():
        if not place.is_dir() or place.is_symlink():
            continue
        with try_exclusive(place / _LOCK) as dead:
            if dead:
                remove_tree(place)


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 1024**3:.2f} GiB"
