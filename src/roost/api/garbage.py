"""`/api/garbage`: what is stored and nothing refers to."""

from __future__ import annotations

from fastapi import APIRouter

from roost.contracts.garbage import GarbageReport, GarbageRequest
from roost.services.garbage import Garbage


def garbage_router(garbage: Garbage) -> APIRouter:
    """The route of garbage."""
    router = APIRouter(prefix="/api/garbage", tags=["garbage"])

    @router.post("/collect", summary="Collect garbage, or say what would be collected")
    def collect(request: GarbageRequest) -> GarbageReport:
        return garbage.collect(dry_run=request.dry_run, grace_s=request.grace_s)

    return router
