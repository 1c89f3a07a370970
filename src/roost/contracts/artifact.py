"""Content-addressed artifacts as they pass through the server."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from roost.contracts.base import Wire

ArtifactKind = Literal["chunks", "manifests", "bundles"]
"""`chunks` and `manifests` are named by SHA-256 of their bytes, `bundles` by their fingerprint."""

UrlMethod = Literal["GET", "PUT"]


class MissingRequest(Wire):
    """Asks which of these are not stored yet."""

    names: list[str]


class MissingResponse(Wire):
    """The names that are not stored, in the order asked."""

    missing: list[str]


class UrlsRequest(Wire):
    """Asks for URLs by which the storage itself can be read or written."""

    names: list[str]
    method: UrlMethod


class SignedUrls(Wire):
    """URLs that need no credentials.

    Attributes:
        urls: By name; None where there are none, and artifacts of this kind go through the server.
        headers: By name, what must be sent along; a URL to write takes no other bytes than its name's.
        expires_s: So long they are good, in seconds from now.
    """

    urls: dict[str, str] | None
    headers: dict[str, dict[str, str]] = Field(default_factory=dict)
    expires_s: float
