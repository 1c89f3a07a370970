"""Artifacts on their way through the server, and whether all of a model is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.contracts.artifact import ArtifactKind
from roost.contracts.servable import ServableRef
from roost.errors import ArtifactNotFound, BadRequest
from roost.storage.artifacts import ArtifactStore
from roost.storage.manifest import Manifest

MAX_ARTIFACT_BYTES: Final = 64 * 1024 * 1024
"""Largest artifact that is taken over HTTP."""

MAX_NAMES: Final = 10_000
"""Most names that may be asked for at once."""


class Artifacts:
    """Passes artifacts between callers and storage, which verifies them on the way in and out."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> list[str]:
        """Those of `names` that are not stored, each once, in the order asked.

        Raises:
            BadRequest: for more than `MAX_NAMES`.
            InvalidName: for a name that no artifact can have.
        """
        if len(names) > MAX_NAMES:
            raise BadRequest(
                f"{len(names)} names were asked for at once, at most {MAX_NAMES} are allowed.",
                hint="Ask in several requests.",
            )
        missing = self._store.missing(kind, names)
        return [name for name in dict.fromkeys(names) if name in missing]

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Store one artifact; storing it again changes nothing.

        Raises:
            BadRequest: when the bytes do not have the digest they are named by.
            InvalidName: for a name that no artifact can have.
        """
        self._store.put(kind, name, data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        """One artifact, verified.

        Raises:
            ArtifactNotFound: naming it.
            CorruptArtifact: when the stored bytes were altered.
        """
        return self._store.get(kind, name)

    def check_weights(self, digest: str) -> Manifest:
        """The manifest of these weights, when it and all its chunks are stored.

        Raises:
            ArtifactNotFound: naming what is missing.
        """
        manifest = Manifest.decode(self._store.get("manifests", digest))
        missing = self._store.missing("chunks", sorted(manifest.chunk_names()))
        if missing:
            raise ArtifactNotFound(
                f"{len(missing)} chunks of weights {digest!r} are not in storage, such as {min(missing)!r}.",
                hint="Upload the weights again; only what is missing is sent.",
            )
        return manifest

    def check_bundle(self, servable: ServableRef) -> None:
        """Make sure that the servable's bundle is stored.

        Raises:
            ArtifactNotFound: naming it.
        """
        if self._store.missing("bundles", [servable.bundle_fingerprint]):
            raise ArtifactNotFound(
                f"The bundle {servable.bundle_fingerprint!r} of {servable.class_path!r} is not in storage.",
                hint="Upload the bundle before the model is finished with it.",
            )
