"""What replicas say of themselves through Serve's HTTP ingress: Ray says RUNNING before it routes to them."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import httpx2

from roost.asgi.ready import ID_HEADER, IDLE_HEADER, IN_FLIGHT_HEADER, READY_HEADER, READY_PATH
from roost.hosts import is_loopback
from roost.serving.usage import Usage

_TIMEOUT_S: Final = 1.0

_ANSWERS: Final = 5
"""So many in a row must be right: replicas take turns, and those of the version before may still have one."""

_TRIES_EACH: Final = 4
"""Questions per replica: they take turns, but not strictly."""


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
        return all(self._ask(route_prefix).get(READY_HEADER) == version for _ in range(_ANSWERS))

    def usage(self, route_prefix: str, replicas: int) -> Usage | None:
        """How much so many replicas are used; None when not all of them were heard, or one gave no answer.

        Never ask where none runs: the question would wake it.
        """
        heard: dict[str, Usage] = {}
        for _ in range(_TRIES_EACH * replicas):
            answer = self._ask(route_prefix)
            try:
                usage = Usage(int(answer[IN_FLIGHT_HEADER]), float(answer[IDLE_HEADER]))
                heard[answer[ID_HEADER]] = usage
            except (KeyError, ValueError):
                return None
            if len(heard) == replicas:
                each = heard.values()
                return Usage(sum(one.in_flight for one in each), min(one.idle_s for one in each))
        return None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, route_prefix: str) -> httpx2.Headers:
        """The headers of one answer; none when there was no answer."""
        try:
            return self._client.get(route_prefix + READY_PATH).headers
        except httpx2.HTTPError:
            return httpx2.Headers()
