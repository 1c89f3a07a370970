"""Artifacts in memory, as strict as the real store."""

from __future__ import annotations

from collections.abc import Sequence

from roost.contracts.artifact import ArtifactKind
from roost.errors import ArtifactNotFound, BadRequest, CorruptArtifact
from roost.storage.artifacts import check_name, sha256
from roost.storage.manifest import Manifest


class MemoryStore:
    """Fits `roost.storage.artifacts.ArtifactStore`.

    Attributes:
        objects: The stored bytes by kind and name; a test may alter or remove them.
    """

    def __init__(self) -> None:
        self.objects: dict[tuple[ArtifactKind, str], bytes] = {}

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        """Those of `names` that are not stored."""
        return {name for name in names if (kind, check_name(kind, name)) not in self.objects}

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Store one artifact.

        Raises:
            InvalidName: the name is not 64 lower-case hex digits.
            BadRequest: the bytes of a chunk or manifest do not have this digest, or there are none.
            InvalidWeights: a manifest that does not describe a tree.
        """
        check_name(kind, name)
        if not data or (kind != "bundles" and sha256(data) != name):
            raise BadRequest(f"{kind} {name!r} was sent with {len(data)} bytes of another SHA-256.")
        if kind == "manifests":
            Manifest.decode(data)
        self.objects[kind, name] = bytes(data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        """One artifact.

        Raises:
            ArtifactNotFound: it is not stored.
            CorruptArtifact: a test altered it.
        """
        data = self.objects.get((kind, check_name(kind, name)))
        if data is None:
            raise ArtifactNotFound(f"{kind} {name!r} is not in storage.")
        if kind != "bundles" and sha256(data) != name:
            raise CorruptArtifact(f"{kind} {name!r} is corrupt.")
        return data
