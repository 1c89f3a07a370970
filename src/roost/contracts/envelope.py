"""The success envelope of the inference routes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field

from roost.contracts.base import Wire

Output = TypeVar("Output", bound=Wire)


class InferenceRequest(Wire):
    """What every inference request carries: `model`, a deployment's name or full key."""

    model: str = Field(min_length=1, max_length=300)


class InferenceResponse(Wire, Generic[Output]):
    """The success envelope.

    Attributes:
        id: The request id.
        timestamp: When the answer was made, UTC.
        processing_time: Seconds spent in the replica.
        metadata: `model`, `capability`, `modelClass` and `deployment` (its key).
    """

    id: str
    status: Literal["SUCCESS"] = "SUCCESS"
    timestamp: datetime
    processing_time: float
    metadata: dict[str, Any]
    data: Output
