"""Says what a bundle holds and why."""

from __future__ import annotations

from roost.bundle.read import read
from roost.contracts.bundle import BundleFile, BundleInfo, BundlePin

_MOST_SHOWN = 500


def describe(data: bytes, fingerprint: str) -> BundleInfo:
    """What the bundle `fingerprint` holds, sorted. Nothing of it is run or written.

    Raises:
        CorruptArtifact: `data` is not this bundle.
    """
    archive = read(data, fingerprint)
    return BundleInfo(
        fingerprint=fingerprint,
        class_path=archive.class_path,
        files=[
            BundleFile(path=path, size=len(content), reason=_shown(archive.reasons.get(path, "")))
            for path, content in sorted(archive.contents.items())
        ],
        pins=[
            BundlePin(requirement=pin, reason=_shown(archive.pin_reasons.get(pin, "")))
            for pin in sorted(archive.pins)
        ],
        notes=[_shown(note) for note in archive.notes],
    )


def _shown(text: str) -> str:
    """Of what no fingerprint covers: one short line that a terminal can print."""
    return "".join(character if character.isprintable() else " " for character in text)[:_MOST_SHOWN]
