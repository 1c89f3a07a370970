"""How many replicas a deployment may have, when the load decides."""

from __future__ import annotations

from pydantic import Field, model_validator

from roost.contracts.base import Wire


class Autoscaling(Wire):
    """Bounds and pace of autoscaling. Queued requests count as load.

    Attributes:
        min_replicas: 0 lets it go to sleep; the next request wakes it and is held until it is up.
        target_ongoing_requests: Requests that one replica works on or has queued, on average.
        upscale_delay_s, downscale_delay_s: How long load must be high or low before it is followed.
        downscale_to_zero_delay_s: Before the last replica stops; None takes `downscale_delay_s`.
    """

    min_replicas: int = Field(default=1, ge=0, le=1000)
    max_replicas: int = Field(ge=1, le=1000)
    target_ongoing_requests: float = Field(default=2.0, gt=0, le=100_000)
    upscale_delay_s: float = Field(default=5.0, ge=0, le=86_400)
    downscale_delay_s: float = Field(default=120.0, ge=0, le=86_400)
    downscale_to_zero_delay_s: float | None = Field(default=None, ge=0, le=86_400)

    @model_validator(mode="after")
    def _ordered(self) -> Autoscaling:
        if self.min_replicas > self.max_replicas:
            raise ValueError(
                f"min_replicas={self.min_replicas} is more than max_replicas={self.max_replicas}"
            )
        return self
