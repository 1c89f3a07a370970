"""`/api/models/{family}/{suffix}/{run_name}/bundle`: what a model's code is."""

from __future__ import annotations

from fastapi import APIRouter

from roost.api.models import Key
from roost.contracts.bundle import BundleInfo
from roost.services.bundles import Bundles


def bundles_router(bundles: Bundles) -> APIRouter:
    """The route that shows a bundle."""
    router = APIRouter(prefix="/api/models", tags=["models"])

    @router.get("/{family}/{suffix}/{run_name}/bundle", summary="Show what a model's bundle holds")
    def get_bundle(key: Key) -> BundleInfo:
        return bundles.get(key)

    return router
