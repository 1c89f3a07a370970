"""`/api/info`: what the server says of itself."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from roost.contracts.info import ServerInfo


def info_router(info: Callable[[bool], ServerInfo]) -> APIRouter:
    """The route; `info(exposed)` may ask Ray for its nodes."""
    router = APIRouter(prefix="/api", tags=["server"])

    @router.get("/info", summary="Version, parts and counts")
    def get_info(exposed: bool = False) -> ServerInfo:
        """With `exposed`, also the listeners that can be reached from other machines."""
        return info(exposed)

    return router
