"""Packs traced files into one archive under a fingerprint."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from roost.bundle.trace import Traced
from roost.errors import InvalidServable

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE: Final = 0o100644 << 16
_UNIX: Final = 3


@dataclass(frozen=True, slots=True)
class Bundle:
    """A packed servable.

    Attributes:
        fingerprint: 64 hex digits over the files' paths and bytes, `class_path` and `pins`; the same
            on every machine and below every path.
        data: The archive, a zip.
        class_path: `package.module:Qual.name`.
        pins: Requirement lines the worker must have installed, sorted.
        files: Archive paths, sorted.
        notes: What the owner of the code should know, a sentence each.
    """

    fingerprint: str
    data: bytes = field(repr=False)
    class_path: str
    pins: list[str]
    files: list[str]
    notes: list[str] = field(default_factory=list)


def pack(traced: Traced) -> Bundle:
    """Read the traced files once and pack them.

    Raises:
        InvalidServable: a file cannot be read, a path cannot be stored, or the limits of a bundle
            (`MAX_FILES`, `MAX_TOTAL_BYTES`) are passed.
    """
    contents = _read(traced)
    pins = sorted(traced.pins)
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    data = _zipped(contents, _metadata(traced, pins))
    if len(data) > MAX_TOTAL_BYTES:
        raise _too_large(traced.class_path, "packed")
    return Bundle(
        fingerprint=fingerprint_of(digests, traced.class_path, pins),
        data=data,
        class_path=traced.class_path,
        pins=pins,
        files=list(contents),
        notes=list(traced.notes),
    )


def _read(traced: Traced) -> dict[str, bytes]:
    count = len(traced.files) + len(traced.made)
    if count > MAX_FILES:
        raise InvalidServable(
            f"{traced.class_path!r} needs {count} files, at most {MAX_FILES} fit in a bundle.",
            hint="Save data as the model's weights instead of include=(...).",
        )
    contents: dict[str, bytes] = {}
    total = 0
    for path in sorted({*traced.files, *traced.made}):
        fault = find_path_fault(path)
        if fault is not None:
            raise InvalidServable(f"file {path!r} cannot be bundled: {fault}.", hint="Rename it.")
        contents[path] = traced.made[path] if path in traced.made else _read_file(traced.files[path])
        total += len(contents[path])
        if total > MAX_TOTAL_BYTES:
            raise _too_large(traced.class_path, f"at {path!r}")
    nested = find_nested_path(contents)
    if nested is not None:
        raise InvalidServable(f"file {nested!r} cannot be bundled: it lies beneath another file.")
    return contents


def _too_large(class_path: str, where: str) -> InvalidServable:
    return InvalidServable(
        f"{class_path!r} is over the {MAX_TOTAL_BYTES // 1024**2} MiB of a bundle {where}.",
        hint="Save large data as the model's weights.",
    )


def _read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidServable(f"file {str(file)!r} cannot be read: {error.strerror}.") from error


def _metadata(traced: Traced, pins: list[str]) -> bytes:
    for_people = {"notes": traced.notes, "reasons": traced.reasons, "pin_reasons": traced.pin_reasons}
    given = {name: value for name, value in for_people.items() if value}
    return json.dumps({"class_path": traced.class_path, "pins": pins, **given}, sort_keys=True).encode()


def _zipped(contents: Mapping[str, bytes], metadata: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in sorted({**contents, METADATA_NAME: metadata}.items()):
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _REGULAR_FILE
            entry.create_system = _UNIX
            archive.writestr(entry, content)
    return buffer.getvalue()
