"""What the server and the replica need to know of a capability: one row of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roost.capabilities.policy import MediaPolicy
from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse


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
        example: A request, for the API's description.
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
    example: dict[str, Any]
    load_input: Callable[[Any, list[bytes] | None, MediaPolicy], Any]
