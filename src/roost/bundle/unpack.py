"""Unpacks a bundle, and only when it is the one it is named as."""

from __future__ import annotations

from pathlib import Path

from roost.bundle.read import read


def unpack(data: bytes, fingerprint: str, target: Path) -> None:
    """Write the files of the bundle `fingerprint` below `target`, which is made when missing.

    Nothing is written before the whole archive is checked, and nothing outside `target`.

    Raises:
        CorruptArtifact: `data` is not this bundle, or breaks the format's rules or limits.
    """
    archive = read(data, fingerprint)
    target.mkdir(parents=True, exist_ok=True)
    for path, content in archive.contents.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as opened:
            opened.write(content)
