"""From a finished model and a request to what is to run: computed once, at deploy time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roost.capabilities.table import CAPABILITIES
from roost.contracts.replica import ReplicaSpec
from roost.contracts.requirements import ModelRequirements
from roost.keys import DeploymentKey
from roost.services.models import ReadyModel
from roost.serving.settings import ServeSettings
from roost.serving.spec import application


@dataclass(frozen=True, slots=True)
class Target:
    """A snapshot of the model as it is deployed. Later changes of the model do not reach it."""

    key: DeploymentKey
    config: dict[str, str]
    num_replicas: int
    application: dict[str, Any]
    requirements: ModelRequirements
    bundle_fingerprint: str
    capability: str | None
    timeout_s: float


def target_of(
    key: DeploymentKey,
    ready: ReadyModel,
    *,
    config: dict[str, str],
    num_replicas: int,
    settings: ServeSettings,
) -> Target:
    """What deploying `ready` with `config` laid over its own config comes to."""
    spec = ReplicaSpec(
        key=key,
        servable=ready.servable,
        weights_digest=ready.saved.digest if ready.saved.has_weights else None,
        config={**ready.saved.config, **config},
        storage_url=settings.storage_url,
        cache_dir=settings.cache_dir,
        limits=settings.limits,
    )
    requirements = ready.saved.requirements
    return Target(
        key=key,
        config=config,
        num_replicas=num_replicas,
        application=application(
            spec, num_replicas=num_replicas, requirements=requirements, settings=settings
        ),
        requirements=requirements,
        bundle_fingerprint=ready.servable.bundle_fingerprint,
        capability=ready.servable.capability,
        timeout_s=_timeout_s(ready.servable.capability, settings),
    )


def _timeout_s(capability: str | None, settings: ServeSettings) -> float:
    if settings.limits.timeout_s is not None:
        return settings.limits.timeout_s
    row = CAPABILITIES.get(capability or "")
    return row.default_timeout_s if row is not None else settings.timeout_s
