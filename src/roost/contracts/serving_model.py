"""Deployed models as the gateway's `/v1/models` shows them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from roost.contracts.base import Wire


class ModelStatusInfo(Wire):
    """One deployed model.

    Attributes:
        name: What a request's `model` says.
        capability: Of an inference model; `"app"` for a serve-app, which has no inference route.
        status: Ray's application status (`RUNNING`, `DEPLOYING`, ...), `NOT_STARTED` when Ray has none.
        phase: Roost's own phase.
        interface: How the model is called, once it has loaded.
        url: The deployment's own URL.
    """

    name: str
    capability: str
    model_class: str | None = None
    model_path: str | None = None
    status: str
    phase: str
    interface: dict[str, Any] | None = None
    url: str
    deployment: str


class DeployModelRequest(Wire):
    """Deploys a declared model: a class that an installed package offers.

    Attributes:
        model_class: Name of an entry point of the group `roost.models`.
        model_params: Parameters of the model; each value is kept as a string, or as JSON when it is not one.
        deployment: Settings of the deployment, such as `num_gpus` and `num_replicas`.
    """

    name: str | None = None
    model_class: str
    model_params: dict[str, Any] = Field(default_factory=dict)
    deployment: dict[str, Any] = Field(default_factory=dict)
