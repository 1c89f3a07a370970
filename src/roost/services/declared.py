"""Deploys models that need no upload: classes that installed packages offer (`roost.models`)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from pydantic import Field, ValidationError

from roost.bundle import check, pack, trace
from roost.contracts.base import Wire
from roost.contracts.deployment import Deployment, DeployRequest
from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.requirements import ModelRequirements
from roost.contracts.serving_model import DeployModelRequest
from roost.errors import BadRequest, InvalidServable, ModelDeployFailed, NotFound, RoostError, Timeout
from roost.keys import DECLARED, DeploymentKey, ModelKey
from roost.services.changes import Changes
from roost.services.deployments import Deployments
from roost.services.models import Models
from roost.storage.artifacts import ArtifactStore

GROUP: Final = "roost.models"
DEPLOY_TIMEOUT_S: Final = 600.0
_SUFFIX: Final = "default"


class DeploymentSettings(Wire, extra="forbid"):
    """Settings of a declared model's deployment; `memory_mb` is main memory in MiB."""

    num_replicas: int = Field(default=1, ge=1, le=1000)
    num_gpus: float = Field(default=0, ge=0)
    memory_mb: int = Field(default=0, ge=0)


class DeclaredModels:
    """Registers a class of an installed package without weights and deploys it."""

    def __init__(
        self, models: Models, artifacts: ArtifactStore, deployments: Deployments, changes: Changes
    ) -> None:
        self._models = models
        self._artifacts = artifacts
        self._deployments = deployments
        self._changes = changes

    def deploy(self, request: DeployModelRequest) -> DeploymentKey:
        """Register, deploy, and wait until it answers; blocks for at most `DEPLOY_TIMEOUT_S`.

        Raises:
            NotFound: when no installed package offers the class; lists close names.
            InvalidServable: when the class cannot be imported.
            BadRequest: for a setting that is not known.
            NameTaken, Infeasible: nothing is deployed.
            ModelDeployFailed: with the constructor's own error.
        """
        settings = _settings(request.deployment)
        key = model_key(request.name or request.model_class)
        self._register(key, request, settings)
        deployment = self._deployments.deploy(
            key, DeployRequest(num_replicas=settings.num_replicas, name=request.name)
        )
        self._wait(deployment)
        return deployment.key

    def _register(self, key: ModelKey, request: DeployModelRequest, settings: DeploymentSettings) -> None:
        bundle = pack(trace(load_class(request.model_class)))
        servable = check(bundle)
        if self._artifacts.missing("bundles", [bundle.fingerprint]):
            self._artifacts.put("bundles", bundle.fingerprint, bundle.data)
        token = self._models.claim(key, ClaimRequest(mode="save", writer="POST /v1/models")).token
        assert token is not None
        commit = CommitRequest(
            servable=servable,
            requirements=ModelRequirements(num_gpus=settings.num_gpus, ram_gb=settings.memory_mb / 1024),
            config=config_of(request.model_params),
        )
        try:
            self._models.commit(key, token, commit)
        except RoostError as error:
            self._models.abandon(key, token, error.message)
            raise

    def _wait(self, deployment: Deployment) -> None:
        deadline = time.monotonic() + DEPLOY_TIMEOUT_S
        key = deployment.key
        while not (deployment.phase == "running" and deployment.observed_generation >= deployment.generation):
            if deployment.phase == "failed" and deployment.observed_generation >= deployment.generation:
                raise ModelDeployFailed(f"{str(key)!r} failed to deploy: {deployment.message}")
            left_s = deadline - time.monotonic()
            if left_s <= 0 or self._changes.closed:
                raise Timeout(f"{str(key)!r} is {deployment.phase} after {DEPLOY_TIMEOUT_S:g} s.")
            self._changes.wait_blocking(self._changes.version, min(left_s, 1.0))
            deployment = self._deployments.get(key)


def load_class(name: str) -> type:
    """The class an installed package offers under `name`.

    Raises:
        NotFound: listing close names.
        InvalidServable: when importing it fails, with the reason.
    """
    offered: dict[str, EntryPoint] = {point.name: point for point in entry_points(group=GROUP)}
    point = offered.get(name)
    if point is None:
        close = get_close_matches(name, offered, n=3, cutoff=0.7)
        known = ", ".join(sorted(offered)) or "none"
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Installed are: {known}."
        raise NotFound(f"No installed package offers the model class {name[:200]!r}.", hint=hint)
    try:
        found: Any = point.load()
    except RoostError:
        raise
    except Exception as error:  # whatever a plugin's import raises is the plugin's fault
        raise InvalidServable(
            f"model class {name!r} ({point.value}) cannot be imported: {type(error).__name__}: {error}."
        ) from error
    if not isinstance(found, type):
        raise InvalidServable(f"the entry point {name!r} ({point.value}) is not a class.")
    return found


def model_key(name: str) -> ModelKey:
    """The registry key of a declared model: `sam2` → `sam2/default/declared`.

    Raises:
        InvalidName: when the name is not one or two segments joined by `/`.
    """
    family, slash, suffix = name.partition("/")
    return ModelKey(family, suffix if slash else _SUFFIX, DECLARED)


def config_of(params: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as a model's config: strings as they are, everything else as JSON."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in params.items()
    }


def _settings(given: Mapping[str, Any]) -> DeploymentSettings:
    try:
        return DeploymentSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(step) for step in first["loc"])
        known = ", ".join(DeploymentSettings.model_fields)
        raise BadRequest(
            f"deployment setting {name!r}: {first['msg']}.", hint=f"Settings are: {known}."
        ) from error
