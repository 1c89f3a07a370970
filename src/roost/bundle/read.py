"""Reads an archive that may be anything, and only when it is the bundle it is named as."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import Any, Final

from roost.bundle.archive import (
    MAX_FILES,
    MAX_METADATA_BYTES,
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


@dataclass(frozen=True, slots=True)
class Archive:
    """A bundle whose files, class path and pins are proven by its fingerprint.

    Attributes:
        contents: Archive path → bytes.
        notes, reasons, pin_reasons: For people only: the fingerprint does not cover them, and bundles of
            older versions have none.
    """

    contents: dict[str, bytes] = field(repr=False)
    class_path: str
    pins: list[str]
    notes: list[str]
    reasons: dict[str, str]
    pin_reasons: dict[str, str]


def read(data: bytes, fingerprint: str) -> Archive:
    """The bundle `fingerprint` in memory; nothing is written.

    Raises:
        CorruptArtifact: `data` is not this bundle, or breaks the format's rules or limits.
    """
    try:
        archive = _archive(data)
    except _Refused as refused:
        raise CorruptArtifact(f"bundle {fingerprint!r} is corrupt: {refused}.") from refused
    except _UNREADABLE as error:
        raise CorruptArtifact(f"bundle {fingerprint!r} is corrupt: it is not a readable archive.") from error
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in archive.contents.items()}
    actual = fingerprint_of(digests, archive.class_path, archive.pins)
    if actual != fingerprint:
        raise CorruptArtifact(
            f"bundle {fingerprint!r} is corrupt: its content has the fingerprint {actual!r}."
        )
    return archive


def _archive(data: bytes) -> Archive:
    if len(data) > MAX_TOTAL_BYTES:
        raise _Refused(f"it is over {MAX_TOTAL_BYTES} bytes")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_FILES + 1:
            raise _Refused(f"it holds over {MAX_FILES} files")
        _check_names(entries)
        of_files = [entry for entry in entries if entry.filename != METADATA_NAME]
        contents = _decompressed(archive, of_files, MAX_TOTAL_BYTES)
        of_metadata = [entry for entry in entries if entry.filename == METADATA_NAME]
        metadata = _decompressed(archive, of_metadata, MAX_METADATA_BYTES).get(METADATA_NAME)
    if metadata is None:
        raise _Refused(f"it has no {METADATA_NAME!r}")
    return _parsed(contents, metadata)


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


def _decompressed(
    archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], max_bytes: int
) -> dict[str, bytes]:
    if sum(entry.file_size for entry in entries) > max_bytes:
        raise _Refused(f"it unpacks to over {max_bytes} bytes")
    contents: dict[str, bytes] = {}
    left = max_bytes
    for entry in entries:
        # The declared size is the archive's word; count what really comes out.
        with archive.open(entry) as opened:
            content = opened.read(left + 1)
        left -= len(content)
        if left < 0:
            raise _Refused(f"it unpacks to over {max_bytes} bytes")
        contents[entry.filename] = content
    return contents


def _parsed(contents: dict[str, bytes], metadata: bytes) -> Archive:
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
    notes = parsed.get("notes")
    return Archive(
        contents=contents,
        class_path=class_path,
        pins=pins,
        notes=[note for note in notes if isinstance(note, str)] if isinstance(notes, list) else [],
        reasons=_texts(parsed.get("reasons")),
        pin_reasons=_texts(parsed.get("pin_reasons")),
    )


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}
