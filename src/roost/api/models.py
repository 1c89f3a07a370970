"""`/api/models`: the registry."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from roost.contracts.model import (
    AbandonRequest,
    Claim,
    ClaimRequest,
    CommitRequest,
    ConfigUpdate,
    ModelPhase,
    RefreshRequest,
    RequirementsUpdate,
    SavedModel,
    SavedModelPage,
)
from roost.keys import ModelKey
from roost.services.model_claims import check_claimable
from roost.services.models import Models


def model_key(family: str, suffix: str, run_name: str) -> ModelKey:
    """The key in the path; a bad segment is refused by name."""
    return ModelKey(family, suffix, run_name)


Key = Annotated[ModelKey, Depends(model_key)]


def models_router(models: Models) -> APIRouter:
    """The routes of the registry, below `/api/models`."""
    router = APIRouter(prefix="/api/models", tags=["models"])
    _add_entries(router, models)
    _add_claims(router, models)
    return router


def _add_entries(router: APIRouter, models: Models) -> None:
    @router.get("", summary="List models")
    def list_models(
        family: str | None = None,
        suffix: str | None = None,
        run_name: Annotated[str | None, Query(alias="runName")] = None,
        phase: ModelPhase | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        after: Annotated[str | None, Query(description="Only what comes after this model.")] = None,
    ) -> SavedModelPage:
        return models.list(
            family=family,
            suffix=suffix,
            run_name=run_name,
            phase=phase,
            limit=limit,
            offset=offset,
            after=ModelKey.parse(after) if after is not None else None,
        )

    @router.get("/{family}/{suffix}/{run_name}", summary="Show a model")
    def get_model(key: Key) -> SavedModel:
        return models.get(key)

    @router.delete("/{family}/{suffix}/{run_name}", status_code=204, summary="Delete a model")
    def delete_model(key: Key) -> None:
        models.delete(key)

    @router.put("/{family}/{suffix}/{run_name}/config", summary="Replace a model's config")
    def set_config(key: Key, update: ConfigUpdate) -> SavedModel:
        return models.set_config(key, update.config)

    @router.put("/{family}/{suffix}/{run_name}/requirements", summary="Replace a model's requirements")
    def set_requirements(key: Key, update: RequirementsUpdate) -> SavedModel:
        return models.set_requirements(key, update.requirements)

    @router.put("/{family}/{suffix}/{run_name}/bundle", summary="Give a finished model a new bundle")
    def refresh_bundle(key: Key, refresh: RefreshRequest) -> SavedModel:
        return models.refresh_bundle(
            key, refresh.servable, requirements=refresh.requirements, config=refresh.config
        )


def _add_claims(router: APIRouter, models: Models) -> None:
    @router.post("/{family}/{suffix}/{run_name}/claims", summary="Begin to write a model")
    def claim(key: Key, request: ClaimRequest) -> Claim:
        check_claimable(key, request)
        return models.claim(key, request)

    @router.put("/{family}/{suffix}/{run_name}/claims/{token}", summary="Renew a claim")
    def renew(key: Key, token: str) -> Claim:
        return models.renew(key, token)

    @router.post("/{family}/{suffix}/{run_name}/claims/{token}/commit", summary="Finish a claim")
    def commit(key: Key, token: str, request: CommitRequest) -> SavedModel:
        return models.commit(key, token, request)

    @router.post("/{family}/{suffix}/{run_name}/claims/{token}/abandon", summary="Give up a claim")
    def abandon(key: Key, token: str, request: AbandonRequest) -> SavedModel | None:
        return models.abandon(key, token, request.reason)
