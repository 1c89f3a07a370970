"""Content-addressed artifacts as they pass through the server."""

from __future__ import annotations

from typing import Literal

from roost.contracts.base import Wire

ArtifactKind = Literal["chunks", "manifests", "bundles"]
"""`chunks` and `manifests` are named by SHA-256 of their bytes, `bundles` by their fingerprint."""


class MissingRequest(Wire):
    """Asks which of these are not stored yet."""

    names: list[str]


class MissingResponse(Wire):
    """The names that are not stored, in the order asked."""

    missing: list[str]
