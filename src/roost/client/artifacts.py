"""Artifacts through the server, for callers that cannot reach the storage themselves."""

from __future__ import annotations

from collections.abc import Sequence

from roost.client import control_calls
from roost.client.sync_client import Client
from roost.contracts.artifact import ArtifactKind

_NAMES_A_CALL = 2000


class RemoteArtifacts:
    """The storage room's `ArtifactStore`, over `/api/artifacts`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        """The names that are not stored yet."""
        found: set[str] = set()
        for start in range(0, len(names), _NAMES_A_CALL):
            call = control_calls.missing(kind, names[start : start + _NAMES_A_CALL])
            found.update(self._client.run(call).missing)
        return found

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        """Store one artifact; the server verifies its digest."""
        self._client.run(control_calls.put_artifact(kind, name, data))

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        """Read one artifact.

        Raises:
            ArtifactNotFound: naming it.
            CorruptArtifact: when the stored bytes differ from their name.
        """
        return self._client.run(control_calls.get_artifact(kind, name))
