"""`/v1/models`: what is deployed and how it is called; deploying and undeploying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from roost.contracts.deployment import Deployment
from roost.contracts.serving_model import DeployModelRequest, ModelStatusInfo
from roost.errors import ModelNotDeployed
from roost.gateway.interfaces import Interfaces
from roost.gateway.table import Routes, RouteView
from roost.keys import DeploymentKey


class Undeployer(Protocol):
    """The part of the deployments service that is needed here."""

    def undeploy(self, key: DeploymentKey) -> Deployment:
        """Want it gone."""
        ...


class DeclaredModels(Protocol):
    """Deploys models whose class an installed package offers."""

    def deploy(self, request: DeployModelRequest) -> DeploymentKey:
        """Deploy it and wait until it answers; blocks.

        Raises:
            NotFound: for an unknown class.
            NameTaken, Infeasible, ModelDeployFailed: when it cannot be.
        """
        ...


def models_router(
    routes: Routes, interfaces: Interfaces, deployments: Undeployer, declared: DeclaredModels
) -> APIRouter:
    """The routes below `/v1/models`."""
    router = APIRouter(prefix="/v1/models", tags=["models"])

    @router.get("", response_model_by_alias=True)
    async def list_models() -> list[ModelStatusInfo]:
        """Every deployed model with its status and interface."""
        return await _infos(routes.snapshot(), interfaces)

    @router.post("", status_code=201)
    async def deploy_model(request: DeployModelRequest) -> ModelStatusInfo:
        """Deploy a declared model and wait until it answers."""
        key = await run_in_threadpool(declared.deploy, request)
        return (await _infos([_get(routes, str(key))], interfaces))[0]

    # A name contains slashes: family/suffix.
    @router.delete("/{name:path}")
    async def undeploy_model(name: str) -> dict[str, str]:
        """Undeploy a model by its name or full key."""
        await run_in_threadpool(deployments.undeploy, _get(routes, name).key)
        return {"status": "deleted", "model": name}

    return router


async def _infos(routes: Sequence[RouteView], interfaces: Interfaces) -> list[ModelStatusInfo]:
    found = await interfaces.find_all(routes)
    return [
        ModelStatusInfo(
            name=route.name,
            capability=route.capability or "app",
            status=route.ray_status,
            phase=route.phase,
            interface=interface,
            url=route.url,
            deployment=str(route.key),
        )
        for route, interface in zip(routes, found, strict=True)
    ]


def _get(routes: Routes, name: str) -> RouteView:
    for route in routes.snapshot():
        if name in (route.name, str(route.key)):
            return route
    raise ModelNotDeployed(f"no model {name[:200]!r} is deployed.", hint="GET /v1/models lists what is.")
