"""Calls of the inference routes (`/v1`)."""

from __future__ import annotations

from urllib.parse import quote

from pydantic import TypeAdapter

from roost.client.call import Call, parse_model, request_of
from roost.client.images import ImageLike, image_upload
from roost.contracts.base import Wire
from roost.contracts.detection import DetectionRequest, DetectionResponse
from roost.contracts.serving_model import DeployModelRequest, ModelStatusInfo

_MODEL_LIST = TypeAdapter(list[ModelStatusInfo])
DEPLOY_TIMEOUT_S = 600.0


def detection(
    model: str,
    image: ImageLike,
    *,
    classes: list[str] | None,
    box_threshold: float,
    text_threshold: float,
    timeout_s: float | None,
) -> Call[DetectionResponse]:
    """`POST /v1/inference/detection`, or its binary form when the image is at hand."""
    upload = image_upload(image)
    request = request_of(
        DetectionRequest,
        model=model,
        image=image if isinstance(image, str) and upload is None else "upload",
        classes=classes,
        box_threshold=box_threshold,
        text_threshold=text_threshold,
    )
    path = "/v1/inference/detection"
    if upload is None:
        return Call(
            "POST", path, parse_model(DetectionResponse), content=request.to_json(), timeout_s=timeout_s
        )
    metadata = request.model_dump_json(by_alias=True, exclude={"image"}).encode()
    return Call(
        "POST",
        f"{path}/binary",
        parse_model(DetectionResponse),
        parts=(
            ("metadata", ("metadata", metadata, "application/json")),
            ("image", ("image", upload, "application/octet-stream")),
        ),
        timeout_s=timeout_s,
    )


def list_serving() -> Call[list[ModelStatusInfo]]:
    """`GET /v1/models`."""
    return Call("GET", "/v1/models", _MODEL_LIST.validate_json)


def deploy_declared(request: DeployModelRequest) -> Call[ModelStatusInfo]:
    """`POST /v1/models`."""
    return Call(
        "POST",
        "/v1/models",
        parse_model(ModelStatusInfo),
        content=request.to_json(),
        timeout_s=DEPLOY_TIMEOUT_S,
    )


class UndeployedName(Wire):
    """The answer of `DELETE /v1/models/{name}`."""

    status: str
    model: str


def undeploy_name(name: str) -> Call[UndeployedName]:
    """`DELETE /v1/models/{name}`."""
    return Call("DELETE", f"/v1/models/{quote(name, safe='')}", parse_model(UndeployedName))
