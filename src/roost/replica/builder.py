"""What Ray Serve imports: `build` makes the Serve application of a replica spec.

Importing this module needs nothing but Ray, so that a node whose image lacks something else can say so.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ray import serve

from roost.replica.installed import require_installed

DEPLOYMENT_NAME = "App"


def build(args: dict[str, Any]) -> Any:
    """The Serve application of the `ReplicaSpec` in `args` (its JSON form).

    It runs where Serve builds applications and imports nothing of the servable.

    Raises:
        ModelDeployFailed: when this node lacks what a replica imports.
    """
    require_installed()
    spec = import_module("roost.contracts.replica").ReplicaSpec.model_validate(args)
    return serve.deployment(name=DEPLOYMENT_NAME)(serve.ingress()(Replica)).bind(spec.to_json().decode())


class Replica:
    """One replica as Ray Serve drives it: made, asked for its ASGI app, checked, taken down.

    Ray raises whatever the making of the app raises as the deployment's message, mounts the app at
    the application's route prefix (as the scope's `root_path`), cancels the request's task when its
    caller leaves, and runs the app's lifespan, whose shutdown ends the servable.
    """

    def __init__(self, spec_json: str) -> None:
        require_installed()
        self._hosted = import_module("roost.replica.hosted").HostedReplica(spec_json)

    async def __serve_build_asgi_app__(self) -> Any:
        return await self._hosted.start()

    async def check_health(self) -> None:
        """Called by Ray every few seconds; raising means that this replica is to be replaced."""
        await self._hosted.check_health()
