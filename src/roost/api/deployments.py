"""`/api/deployments`: what is to run, and how it stands."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import PlainTextResponse

from roost.contracts.deployment import Deployment, DeploymentList, DeployRequest
from roost.keys import DeploymentKey, ModelKey
from roost.services.changes import Changes
from roost.services.deployments import Deployments

MAX_WAIT_S = 30.0

Fingerprint = Annotated[
    str, Query(description="The config's fingerprint; empty for a deployment without one.")
]


def _model_key(family: str, suffix: str, run_name: str) -> ModelKey:
    return ModelKey(family, suffix, run_name)


def _deployment_key(family: str, suffix: str, run_name: str, fingerprint: Fingerprint = "") -> DeploymentKey:
    return DeploymentKey(family, suffix, run_name, fingerprint)


Model = Annotated[ModelKey, Depends(_model_key)]
Key = Annotated[DeploymentKey, Depends(_deployment_key)]


def deployments_router(deployments: Deployments, changes: Changes) -> APIRouter:
    """The routes of deployments, below `/api/deployments`."""
    router = APIRouter(prefix="/api/deployments", tags=["deployments"])
    _add_changes(router, deployments)
    _add_reads(router, deployments, changes)
    return router


def _add_changes(router: APIRouter, deployments: Deployments) -> None:
    @router.put("/{family}/{suffix}/{run_name}", summary="Deploy a model, or change its deployment")
    def deploy(key: Model, request: DeployRequest) -> Deployment:
        return deployments.deploy(key, request)

    @router.post("/{family}/{suffix}/{run_name}/redeploy", summary="Deploy the model as it is now")
    def redeploy(key: Key) -> Deployment:
        return deployments.redeploy(key)

    @router.delete("/{family}/{suffix}/{run_name}", summary="Undeploy")
    def undeploy(key: Key) -> Deployment:
        return deployments.undeploy(key)


def _add_reads(router: APIRouter, deployments: Deployments, changes: Changes) -> None:
    @router.get("", summary="List deployments")
    def list_deployments(live: bool = True) -> DeploymentList:
        return deployments.list(live=live)

    @router.get("/{family}/{suffix}/{run_name}", summary="Show a deployment, or wait for its next change")
    async def get_deployment(
        key: Key,
        after_version: Annotated[int | None, Query(alias="afterVersion")] = None,
        wait_s: Annotated[float, Query(alias="waitS", ge=0, le=MAX_WAIT_S)] = MAX_WAIT_S,
    ) -> Deployment:
        return await changes.read_until(
            lambda: deployments.get(key), lambda seen: seen.version != after_version, timeout_s=wait_s
        )

    @router.get(
        "/{family}/{suffix}/{run_name}/logs",
        summary="The last lines of its replicas' logs",
        response_class=PlainTextResponse,
    )
    def get_log(key: Key, tail: Annotated[int, Query(ge=1, le=10_000)] = 200) -> str:
        return deployments.log(key, tail)
