"""Open probes: `/health`, `/ready`, `/info`, the same below `/v1`. None of them waits on Ray."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from fastapi import APIRouter, Response
from pydantic import Field

from roost.contracts.base import Wire
from roost.gateway.table import Routes

_ANSWERING = frozenset({"running", "paused"})


class Readiness(Wire):
    """Whether every model that was configured runs.

    Attributes:
        models: Ray's application status of each configured model.
        models_loaded: How many of those run; spelled so because published clients read it so.
        message: What is wrong, when something is.
    """

    ready: bool
    models: dict[str, str]
    models_loaded: int = Field(alias="models_loaded")
    version: str
    message: str = ""


class GatewayInfo(Wire):
    """What serves here. `models_status` maps names to Ray's application status."""

    app_name: str = "Roost"
    app_version: str
    num_cpus: float
    num_gpus: float
    num_nodes: int
    gpus_used: float
    models: list[str]
    models_status: dict[str, str]


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    """The cluster as last seen; zeros and one node before that."""

    num_cpus: float = 0.0
    num_gpus: float = 0.0
    num_nodes: int = 1
    gpus_used: float = 0.0


@dataclass(frozen=True, slots=True)
class Startup:
    """What the start was asked to bring up.

    Attributes:
        expected: Names of the models that must run.
        problem: Why the start failed or is not over; None when it is over.
    """

    expected: Collection[str] = ()
    problem: str | None = None


def probes_router(
    routes: Routes, *, version: str, startup: Callable[[], Startup], cluster: Callable[[], ClusterCounts]
) -> APIRouter:
    """The probes. `startup` and `cluster` answer from memory."""
    router = APIRouter(tags=["probes"])

    async def health() -> dict[str, str]:
        """The server is up."""
        return {"status": "healthy"}

    async def ready(response: Response) -> Readiness:
        """503 until every configured model runs, and after a failed start."""
        readiness = readiness_of(routes, startup(), version)
        if not readiness.ready:
            response.status_code = 503
        return readiness

    async def info() -> GatewayInfo:
        """Version, cluster and models."""
        counts = cluster()
        snapshot = routes.snapshot()
        return GatewayInfo(
            app_version=version,
            num_cpus=counts.num_cpus,
            num_gpus=counts.num_gpus,
            num_nodes=counts.num_nodes,
            gpus_used=counts.gpus_used,
            models=[route.name for route in snapshot],
            models_status={route.name: route.ray_status for route in snapshot},
        )

    for prefix in ("", "/v1"):
        for endpoint in (health, ready, info):
            path = f"{prefix}/{endpoint.__name__}"
            router.add_api_route(path, endpoint, methods=["GET"], include_in_schema=prefix != "")
            router.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False)
    return router


def readiness_of(routes: Routes, startup: Startup, version: str) -> Readiness:
    """Whether what was expected runs, and what is missing."""
    found = {route.name: route for route in routes.snapshot()}
    missing = [name for name in startup.expected if name not in found or found[name].phase not in _ANSWERING]
    message = startup.problem or (f"not running: {', '.join(sorted(missing))}" if missing else "")
    return Readiness(
        ready=not message,
        models={
            name: found[name].ray_status if name in found else "NOT_STARTED" for name in startup.expected
        },
        models_loaded=len(startup.expected) - len(missing),
        version=version,
        message=message,
    )
