"""`/api/storage`: tries the storage."""

from __future__ import annotations

from fastapi import APIRouter

from roost.contracts.storage import StorageCheck
from roost.services.storage import StorageTrial


def storage_router(trial: StorageTrial) -> APIRouter:
    """The route of the storage's trial."""
    router = APIRouter(prefix="/api/storage", tags=["server"])

    @router.post("/check", summary="Store, list, read and delete one object")
    def check() -> StorageCheck:
        return trial.check()

    return router
