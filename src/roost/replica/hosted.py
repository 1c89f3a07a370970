"""A replica in a process of Ray's, which the builder loads once all that it imports is known to be there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from roost.asgi.types import ASGIApp
from roost.contracts.replica import ReplicaSpec
from roost.replica import runtime
from roost.replica.id_echo import WithoutEchoedId
from roost.replica.log import log_with_ray


class HostedReplica:
    """Started once, then checked for as long as it lives.

    Args:
        spec_json: The JSON form of its `ReplicaSpec`.
    """

    def __init__(self, spec_json: str) -> None:
        self._spec = ReplicaSpec.model_validate_json(spec_json)
        self._check: Callable[[], Awaitable[None]] | None = None

    async def start(self) -> ASGIApp:
        """Bring it up; the app that answers below its mount path."""
        log_with_ray()
        replica = await runtime.start(self._spec)
        self._check = replica.check_health
        return WithoutEchoedId(replica.app)

    async def check_health(self) -> None:
        """Raises when the servable cannot answer any more."""
        if self._check is not None:
            await self._check()
