"""How each deployed model is called, asked of its replica once and remembered for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from roost.gateway.fetch import find_json
from roost.gateway.pool import UpstreamPool
from roost.gateway.table import RouteView
from roost.keys import DeploymentKey

_KEEP_S: Final = 30.0
_TIMEOUT_S: Final = 2.0
_PATH: Final = "/v1/interface"


class Interfaces:
    """Answers what `GET {url}/v1/interface` says, None where a model is not running or says nothing."""

    def __init__(self, pool: UpstreamPool) -> None:
        self._pool = pool
        self._known: dict[DeploymentKey, tuple[float, dict[str, Any]]] = {}

    async def find_all(self, routes: Sequence[RouteView]) -> list[dict[str, Any] | None]:
        """The interfaces of these routes, in their order; unknown ones are asked for all at once, for 2 s."""
        keys = {route.key for route in routes}
        self._known = {key: known for key, known in self._known.items() if key in keys}
        return await asyncio.gather(*(self._find(route) for route in routes))

    async def _find(self, route: RouteView) -> dict[str, Any] | None:
        # A paused model would be woken by the question.
        if route.capability is None or route.phase != "running":
            return None
        known = self._known.get(route.key)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        body = await find_json(self._pool, route.url, _PATH, timeout_s=_TIMEOUT_S)
        try:
            interface = msgspec.json.decode(body) if body else None
        except msgspec.DecodeError:
            interface = None
        if not isinstance(interface, dict):
            return None
        self._known[route.key] = (time.monotonic() + _KEEP_S, interface)
        return interface
