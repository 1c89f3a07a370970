"""Idle upstream connections, kept for the next request."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from roost.gateway.upstream import Upstream

_MAX_IDLE: Final = 128


class Origin(NamedTuple):
    """Where an upstream listens."""

    host: str
    port: int
    tls: bool

    @classmethod
    def of(cls, url: str) -> Origin:
        """The origin of an http or https URL.

        Raises:
            ValueError: for any other URL.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an http or https URL")
        tls = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if tls else 80), tls)


class UpstreamPool:
    """Keeps connections alive between requests; belongs to one event loop.

    Args:
        connect_timeout_s: Longest time a connection may take to stand.
        idle_s: An idle connection older than this is not used again. Keep it below the upstream's
            own keep-alive time.
    """

    def __init__(self, *, connect_timeout_s: float = 5.0, idle_s: float = 30.0) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._idle_s = idle_s
        self._idle: dict[Origin, list[Upstream]] = {}

    def take(self, origin: Origin) -> Upstream | None:
        """An idle connection that still stands, the one used last first; None when there is none."""
        idle = self._idle.get(origin)
        if not idle:
            return None
        oldest_s = time.monotonic() - self._idle_s
        while idle:
            upstream = idle.pop()
            if upstream.idle_since_s >= oldest_s and upstream.is_fresh():
                return upstream
            upstream.abort()
        return None

    async def connect(self, origin: Origin) -> Upstream:
        """A new connection.

        Raises:
            OSError: when it is refused or unreachable; `TimeoutError` when it takes too long.
        """
        loop = asyncio.get_running_loop()
        context = ssl.create_default_context() if origin.tls else None
        async with asyncio.timeout(self._connect_timeout_s):
            _, upstream = await loop.create_connection(
                lambda: Upstream(loop), origin.host, origin.port, ssl=context
            )
        return upstream

    def release(self, origin: Origin, upstream: Upstream) -> None:
        """Take a connection back after its exchange; one that cannot be used again is closed."""
        if not upstream.finish():
            return
        now_s = time.monotonic()
        upstream.idle_since_s = now_s
        idle = self._idle.setdefault(origin, [])
        idle.append(upstream)
        oldest = idle[0]
        if len(idle) > _MAX_IDLE or oldest.idle_since_s < now_s - self._idle_s:
            idle.pop(0).abort()

    def close(self) -> None:
        """Close all idle connections."""
        for idle in self._idle.values():
            for upstream in idle:
                upstream.abort()
        self._idle.clear()
