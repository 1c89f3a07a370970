"""`/api/placement`: where replicas could run, and what a deploy would do."""

from __future__ import annotations

from fastapi import APIRouter

from roost.contracts.deployment import DeployRequest
from roost.contracts.placement import DeployPlan, ExplainRequest, PlacementExplanation
from roost.keys import ModelKey
from roost.services.placement import Placement


def placement_router(placement: Placement) -> APIRouter:
    """The routes below `/api/placement`; none of them writes."""
    router = APIRouter(prefix="/api/placement", tags=["placement"])

    @router.post("/explain", summary="Where one more replica could run, and why not elsewhere")
    def explain(request: ExplainRequest) -> PlacementExplanation:
        return placement.explain(request)

    @router.post("/plan/{family}/{suffix}/{run_name}", summary="What a deploy would do, without doing it")
    def plan(family: str, suffix: str, run_name: str, request: DeployRequest) -> DeployPlan:
        return placement.plan(ModelKey(family, suffix, run_name), request)

    return router
