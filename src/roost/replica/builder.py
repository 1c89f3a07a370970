"""What Ray Serve imports: `build` makes the Serve application of a replica spec."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ray import serve

from roost.asgi.types import ASGIApp
from roost.contracts.replica import ReplicaSpec
from roost.replica import runtime
from roost.replica.id_echo import WithoutEchoedId
from roost.replica.log import log_with_ray

DEPLOYMENT_NAME = "App"


def build(args: dict[str, Any]) -> Any:
    """The Serve application of the `ReplicaSpec` in `args` (its JSON form).

    It runs where Serve builds applications and imports nothing of the servable.
    """
    spec = ReplicaSpec.model_validate(args)
    return serve.deployment(name=DEPLOYMENT_NAME)(serve.ingress()(Replica)).bind(spec.to_json().decode())


class Replica:
    """One replica as Ray Serve drives it: made, asked for its ASGI app, checked, taken down.

    Ray raises whatever the making of the app raises as the deployment's message, mounts the app at
    the application's route prefix (as the scope's `root_path`), cancels the request's task when its
    caller leaves, and runs the app's lifespan, whose shutdown ends the servable.
    """

    def __init__(self, spec_json: str) -> None:
        self._spec = ReplicaSpec.model_validate_json(spec_json)
        self._check: Callable[[], Awaitable[None]] | None = None

    async def __serve_build_asgi_app__(self) -> ASGIApp:
        log_with_ray()
        replica = await runtime.start(self._spec)
        self._check = replica.check_health
        return WithoutEchoedId(replica.app)

    async def check_health(self) -> None:
        """Called by Ray every few seconds; raising means that this replica is to be replaced."""
        if self._check is not None:
            await self._check()
