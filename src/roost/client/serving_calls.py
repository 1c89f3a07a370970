"""Calls of `/v1/models`."""

from __future__ import annotations

from urllib.parse import quote

from pydantic import TypeAdapter

from roost.client.call import Call, parse_model
from roost.contracts.base import Wire
from roost.contracts.serving_model import DeployModelRequest, ModelStatusInfo

_MODEL_LIST = TypeAdapter(list[ModelStatusInfo])
DEPLOY_TIMEOUT_S = 600.0


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
