"""The capabilities Roost serves: one file and one row each. Routes, time-outs and types come from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from roost.capabilities.detection import (
    DetectionInterface,
    DetectionModel,
    DetectionOutput,
    DetectionParameters,
    DetectionRequest,
    DetectionResponse,
    load_detection,
)
from roost.capabilities.policy import MediaPolicy
from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One row of the table.

    Attributes:
        name: As in `/v1/inference/{name}`.
        request_type: The JSON body.
        upload_request_type: The `metadata` part of a binary request; None when there is no such route.
        response_type: The success envelope.
        output_type: What `predict` returns; the envelope's `data`.
        interface_type: How a model says it is called.
        model_base: The `InferenceModel` that authors subclass.
        default_timeout_s: Longest time a request may take unless the deployment says otherwise.
        upload_field: Name of the parts with raw media; None when there is no binary route.
        upload_many: Whether there may be several such parts.
        load_input: Makes the model's input of a request, its uploads (None for JSON) and the policy.
    """

    name: str
    request_type: type[InferenceRequest]
    upload_request_type: type[InferenceRequest] | None
    response_type: type[InferenceResponse[Any]]
    output_type: type[Wire]
    interface_type: type[Wire]
    model_base: type
    default_timeout_s: float
    upload_field: str | None
    upload_many: bool
    load_input: Callable[[Any, list[bytes] | None, MediaPolicy], Any]


_ROWS = (
    Capability(
        name="detection",
        request_type=DetectionRequest,
        upload_request_type=DetectionParameters,
        response_type=DetectionResponse,
        output_type=DetectionOutput,
        interface_type=DetectionInterface,
        model_base=DetectionModel,
        default_timeout_s=60.0,
        upload_field="image",
        upload_many=False,
        load_input=load_detection,
    ),
)

CAPABILITIES: Final[dict[str, Capability]] = {row.name: row for row in _ROWS}


def get_capability(name: str) -> Capability:
    """The row of a capability.

    Raises:
        NotFound: for an unknown name, listing the known ones.
    """
    row = CAPABILITIES.get(name)
    if row is None:
        raise NotFound(
            f"There is no capability {name[:64]!r}.",
            hint=f"Known capabilities: {', '.join(sorted(CAPABILITIES))}.",
        )
    return row
