"""`/api/artifacts`: chunks, manifests and bundles through the server."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from roost.asgi.body import read_body
from roost.contracts.artifact import ArtifactKind, MissingRequest, MissingResponse, SignedUrls, UrlsRequest
from roost.services.artifacts import MAX_ARTIFACT_BYTES, Artifacts

PREFIX = "/api/artifacts"
_BYTES = "application/octet-stream"


class BytesResponse(Response):
    """Raw bytes, for the OpenAPI file too."""

    media_type = _BYTES


def artifacts_router(artifacts: Artifacts) -> APIRouter:
    """The routes of artifacts, below `/api/artifacts`."""
    router = APIRouter(prefix=PREFIX, tags=["artifacts"])

    @router.post("/{kind}/missing", summary="Which of these are not stored")
    def missing(kind: ArtifactKind, request: MissingRequest) -> MissingResponse:
        return MissingResponse(missing=artifacts.missing(kind, request.names))

    @router.post("/{kind}/urls", summary="URLs of the storage itself")
    def urls(kind: ArtifactKind, request: UrlsRequest) -> SignedUrls:
        return artifacts.urls(kind, request.names, request.method)

    @router.put(
        "/{kind}/{name}",
        status_code=204,
        summary="Store one artifact",
        openapi_extra={"requestBody": {"required": True, "content": {_BYTES: {}}}},
    )
    async def put_artifact(kind: ArtifactKind, name: str, request: Request) -> Response:
        data = await read_body(request.scope, request.receive, MAX_ARTIFACT_BYTES)
        await run_in_threadpool(artifacts.put, kind, name, data)
        return Response(status_code=204)

    @router.get("/{kind}/{name}", summary="Read one artifact", response_class=BytesResponse)
    def get_artifact(kind: ArtifactKind, name: str) -> BytesResponse:
        return BytesResponse(artifacts.get(kind, name))

    return router
