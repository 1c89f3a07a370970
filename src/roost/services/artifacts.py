"""Artifacts on their way through the server, and whether all of a model is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.contracts.artifact import ArtifactKind, SignedUrls, UrlMethod
from roost.contracts.servable import ServableRef
from roost.errors import ArtifactNotFound, BadRequest
from roost.storage.artifacts import ArtifactStore, check_name
from roost.storage.manifest import Manifest
from roost.storage.signed import ArtifactSigner

MAX_ARTIFACT_BYTES: Final = 64 * 1024 * 1024
"""Largest artifact that is taken over HTTP."""

MAX_NAMES: Final = 10_000
"""Most names that may be asked for at once."""


MAX_URLS: Final = 1000
"""Most URLs that may be asked for at once."""


class Artifacts:
    """Passes artifacts between callers and storage, which verifies them on the way in and out.

    Args:
        signer: Gives callers URLs of the storage itself, where it has them.
    """

    def __init__(self, store: ArtifactStore, signer: ArtifactSigner | None = None) -> None:
        self._store = store
        self._signer = signer

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> list[str]:
        """Those of `names` that are not stored, each once, in the order asked.

        Raises:
            BadRequest: for more than `MAX_NAMES`.
            InvalidName: for a name that no artifact can have.
        """
        _check_count(names, MAX_NAMES)
        missing = self._store.missing(kind, names)
        return [name for name in dict.fromkeys(names) if name in missing]

    def urls(self, kind: ArtifactKind, names: Sequence[str], method: UrlMethod) -> SignedUrls:
        """URLs by which a caller reads or writes the storage itself.

        Raises:
            BadRequest: for more than `MAX_URLS`.
            InvalidName: for a name that no artifact can have.
        """
        _check_count(names, MAX_URLS)
        for name in names:
            check_name(kind, name)
        if self._signer is None:
            return SignedUrls(urls=None, expires_s=0.0)
        return self._signer.sign(kind, names, method)

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


def _check_count(names: Sequence[str], most: int) -> None:
    if len(names) > most:
        raise BadRequest(
            f"{len(names)} names were asked for at once, at most {most} are allowed.",
            hint="Ask in several requests.",
        )
