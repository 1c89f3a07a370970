"""Whether Serve's HTTP ingress routes to a version yet: Ray says RUNNING a moment before."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import httpx2

from roost.asgi.ready import READY_HEADER, READY_PATH
from roost.hosts import is_loopback

_TIMEOUT_S: Final = 1.0

_ANSWERS: Final = 5
"""So many in a row must be right: replicas take turns, and those of the version before may still have one."""


class Ingress:
    """Asks replicas through the ingress for the answer that only they give. Thread-safe.

    Args:
        serve_url: Address of the ingress, without a trailing slash.
    """

    def __init__(self, serve_url: str) -> None:
        self._client = httpx2.Client(
            base_url=serve_url, timeout=_TIMEOUT_S, trust_env=not is_loopback(urlsplit(serve_url).hostname)
        )

    def routes(self, route_prefix: str, version: str) -> bool:
        """Whether replicas of this version, and none of another, answer at `route_prefix`."""
        return all(self._answers(route_prefix, version) for _ in range(_ANSWERS))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _answers(self, route_prefix: str, version: str) -> bool:
        try:
            answer = self._client.get(route_prefix + READY_PATH)
        except httpx2.HTTPError:
            return False
        found: str | None = answer.headers.get(READY_HEADER)
        return found == version
