"""The archive format of a bundle: names, limits and the fingerprint.

A bundle is a zip with the code at its top level and one entry more, `METADATA_NAME`, a JSON
object with `class_path` and `pins`. For people it may hold more, which the fingerprint does not
cover: `notes` (sentences), and `reasons` and `pin_reasons` (why each file and each pin is there).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

METADATA_NAME: Final = "roost-bundle.json"
MAX_FILES: Final = 10_000
MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of all files together, unpacked; also the most bytes of the archive."""

MAX_METADATA_BYTES: Final = 32 * 1024 * 1024
"""Most bytes of `METADATA_NAME`, unpacked."""

_MAX_PART_BYTES: Final = 255
_MAX_PATH_BYTES: Final = 1024


def fingerprint_of(digests: Mapping[str, str], class_path: str, pins: Sequence[str]) -> str:
    """SHA-256 (64 hex digits) over the sorted files, the class path and the sorted pins.

    Args:
        digests: Archive path → SHA-256 (hex) of the file's bytes.
    """
    content = {"class_path": class_path, "files": sorted(digests.items()), "pins": sorted(pins)}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def find_path_fault(path: str) -> str | None:
    """Why `path` may not name a file of a bundle; None when it may."""
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "it must be relative and normalized"
    if "\\" in path or any(ord(character) < 32 for character in path):
        return "it must not hold backslashes or control characters"
    if len(encoded) > _MAX_PATH_BYTES or any(len(part.encode()) > _MAX_PART_BYTES for part in parts):
        return f"it is longer than {_MAX_PATH_BYTES} bytes, or a part is longer than {_MAX_PART_BYTES}"
    if path == METADATA_NAME:
        return "the name is taken by the bundle itself"
    return None


def find_nested_path(paths: Iterable[str]) -> str | None:
    """A path that lies beneath another path of the same set, which would have to be a file and a folder."""
    names = set(paths)
    for name in names:
        parts = name.split("/")
        if any("/".join(parts[:depth]) in names for depth in range(1, len(parts))):
            return name
    return None
