"""The replica runtime as a zip: what of Roost runs in a replica, for workers with another version or none."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOMS: Final = ("asgi", "bundle", "capabilities", "client", "contracts", "replica", "sdk", "storage")
"""Packages a replica needs; `client` and `sdk` because servables call `roost.load_model` and the like."""

MODULES: Final = ("__init__.py", "errors.py", "hosts.py", "keys.py", "py.typed", "serve.py")

_TOP: Final = "runtime"
"""Ray strips a single top-level folder, so that `roost` must not be it."""

_PACKAGE: Final = Path(__file__).absolute().parents[1]
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE: Final = 0o100644 << 16
_UNIX: Final = 3


@dataclass(frozen=True, slots=True)
class RuntimeZip:
    """The zip and its name.

    Attributes:
        digest: SHA-256 of `data` (64 hex digits): the same on every machine for the same version.
    """

    digest: str
    data: bytes = field(repr=False)

    @property
    def path(self) -> str:
        """Where storage keeps it."""
        return f"runtime/{self.digest}.zip"


def pack_runtime(package: Path = _PACKAGE) -> RuntimeZip:
    """Pack the running version of Roost, or the one whose package folder is given.

    Not compressed: what zlib makes of the same bytes differs from build to build.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(_files(package)):
            entry = zipfile.ZipInfo(f"{_TOP}/roost/{path}", _EPOCH)
            entry.external_attr = _REGULAR_FILE
            entry.create_system = _UNIX
            archive.writestr(entry, (package / path).read_bytes())
    data = buffer.getvalue()
    return RuntimeZip(hashlib.sha256(data).hexdigest(), data)


def _files(package: Path) -> Iterator[str]:
    yield from MODULES
    for room in ROOMS:
        for file in (package / room).rglob("*.py"):
            yield file.relative_to(package).as_posix()
