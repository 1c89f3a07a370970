"""Unpacks an archive that may be anything, and only when it is the bundle it is named as."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Final

from roost.bundle.archive import (
    MAX_FILES,
    MAX_TOTAL_BYTES,
    METADATA_NAME,
    find_nested_path,
    find_path_fault,
    fingerprint_of,
)
from roost.errors import CorruptArtifact

_UNREADABLE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)
_ENCRYPTED: Final = 0x1


class _Refused(Exception):
    """A rule of the format is broken; the message says which."""


def unpack(data: bytes, fingerprint: str, target: Path) -> None:
    """Write the files of the bundle `fingerprint` below `target`, which is made when missing.

    Nothing is written before the whole archive is checked, and nothing outside `target`.

    Raises:
        CorruptArtifact: `data` is not this bundle, or breaks the format's rules or limits.
    """
    try:
        contents, class_path, pins = _contents(data)
    except _Refused as refused:
        raise CorruptArtifact(f"bundle {fingerprint!r} is corrupt: {refused}.") from refused
    except _UNREADABLE as error:
        raise CorruptArtifact(f"bundle {fingerprint!r} is corrupt: it is not a readable archive.") from error
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    actual = fingerprint_of(digests, class_path, pins)
    if actual != fingerprint:
        raise CorruptArtifact(
            f"bundle {fingerprint!r} is corrupt: its content has the fingerprint {actual!r}."
        )
    target.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as opened:
            opened.write(content)


def _contents(data: bytes) -> tuple[dict[str, bytes], str, list[str]]:
    if len(data) > MAX_TOTAL_BYTES:
        raise _Refused(f"it is over {MAX_TOTAL_BYTES} bytes")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_FILES + 1:
            raise _Refused(f"it holds over {MAX_FILES} files")
        _check_names(entries)
        contents = _decompressed(archive, entries)
    metadata = contents.pop(METADATA_NAME, None)
    if metadata is None:
        raise _Refused(f"it has no {METADATA_NAME!r}")
    return contents, *_parsed(metadata)


def _check_names(entries: list[zipfile.ZipInfo]) -> None:
    names = [entry.orig_filename for entry in entries]
    for entry in entries:
        name = entry.orig_filename
        fault = None if name == METADATA_NAME else find_path_fault(name)
        if fault is not None or name != entry.filename:
            raise _Refused(f"entry {name!r} is not allowed: {fault or 'its name is ambiguous'}")
        mode = entry.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or entry.flag_bits & _ENCRYPTED:
            raise _Refused(f"entry {name!r} is not a plain file")
    if len(set(names)) != len(names):
        raise _Refused("a name occurs twice")
    nested = find_nested_path(names)
    if nested is not None:
        raise _Refused(f"entry {nested!r} lies beneath another file")


def _decompressed(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> dict[str, bytes]:
    if sum(entry.file_size for entry in entries) > MAX_TOTAL_BYTES:
        raise _Refused(f"it unpacks to over {MAX_TOTAL_BYTES} bytes")
    contents: dict[str, bytes] = {}
    left = MAX_TOTAL_BYTES
    for entry in entries:
        # The declared size is the archive's word; count what really comes out.
        with archive.open(entry) as opened:
            content = opened.read(left + 1)
        left -= len(content)
        if left < 0:
            raise _Refused(f"it unpacks to over {MAX_TOTAL_BYTES} bytes")
        contents[entry.filename] = content
    return contents


def _parsed(metadata: bytes) -> tuple[str, list[str]]:
    try:
        parsed = json.loads(metadata)
    except RecursionError as error:
        raise _Refused(f"its {METADATA_NAME!r} is not understood") from error
    class_path = parsed.get("class_path") if isinstance(parsed, dict) else None
    pins = parsed.get("pins") if isinstance(parsed, dict) else None
    if (
        not isinstance(class_path, str)
        or not isinstance(pins, list)
        or not all(isinstance(pin, str) for pin in pins)
    ):
        raise _Refused(f"its {METADATA_NAME!r} is not understood")
    return class_path, pins
