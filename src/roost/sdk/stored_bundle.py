"""Whether a bundle is stored as it was sent."""

from __future__ import annotations

from roost.bundle.read import read
from roost.contracts.verification import Problem
from roost.errors import ArtifactNotFound, CorruptArtifact
from roost.storage.artifacts import ArtifactStore
from roost.storage.verify import Checked


def check_bundle(fingerprint: str, artifacts: ArtifactStore) -> Checked:
    """Read the stored bundle and compare its content with its fingerprint; nothing is unpacked to the disk.

    Raises:
        Unavailable: storage does not answer.
    """
    size = 0
    try:
        data = artifacts.get("bundles", fingerprint)
        size = len(data)
        read(data, fingerprint)
    except (ArtifactNotFound, CorruptArtifact) as error:
        return Checked(size, [Problem(what=error.message)])
    return Checked(size)
