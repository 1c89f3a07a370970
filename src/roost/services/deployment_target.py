"""From a finished model and a request to what is to run: computed once, at deploy time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from roost.capabilities.table import CAPABILITIES
from roost.contracts.autoscaling import Autoscaling
from roost.contracts.deployment import DeployRequest, Rollout
from roost.contracts.replica import ReplicaSpec
from roost.contracts.requirements import ModelRequirements
from roost.keys import DeploymentKey
from roost.services.models import ReadyModel
from roost.serving.scale import by_load, fixed
from roost.serving.settings import ServeSettings
from roost.serving.spec import application


@dataclass(frozen=True, slots=True)
class Wish:
    """How a caller wants a deployment to be run, besides what runs."""

    num_replicas: int
    autoscaling: Autoscaling | None
    rollout: Rollout
    pinned: bool
    idle_timeout_s: float | None

    @staticmethod
    def of(request: DeployRequest) -> Wish:
        """The wish in a request; the count that load begins with is kept between its bounds."""
        count, scale = request.num_replicas, request.autoscaling
        if scale is not None:
            count = max(1, scale.min_replicas, min(count, scale.max_replicas))
        return Wish(
            count,
            scale,
            request.rollout,
            request.pinned,
            request.idle_timeout_s,
        )

    def scale(self, running: int) -> dict[str, Any]:
        """Ray's autoscaling config; scaling by load goes on from the `running` replicas, if there are any."""
        if self.autoscaling is None:
            return fixed(self.num_replicas)
        return by_load(self.autoscaling, running or self.num_replicas)


@dataclass(frozen=True, slots=True)
class Target:
    """A snapshot of the model as it is deployed. Later changes of the model do not reach it."""

    key: DeploymentKey
    config: dict[str, str]
    wish: Wish
    application: dict[str, Any]
    requirements: ModelRequirements
    bundle_fingerprint: str
    capability: str | None
    timeout_s: float

    def placed(self, actor_options: dict[str, Any]) -> Target:
        """The same with other actor options."""
        part = {**self.application["deployments"][0], "ray_actor_options": actor_options}
        return replace(self, application={**self.application, "deployments": [part]})

    def starting_with(self, running: int) -> Target:
        """The same, where scaling by load begins with the replicas that run."""
        part = {**self.application["deployments"][0], "autoscaling_config": self.wish.scale(running)}
        return replace(self, application={**self.application, "deployments": [part]})


def target_of(
    key: DeploymentKey,
    ready: ReadyModel,
    *,
    config: dict[str, str],
    wish: Wish,
    actor_options: dict[str, Any],
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
        runtime_zip=settings.runtime_zip,
    )
    return Target(
        key=key,
        config=config,
        wish=wish,
        application=application(spec, scale=wish.scale(0), actor_options=actor_options, settings=settings),
        requirements=ready.saved.requirements,
        bundle_fingerprint=ready.servable.bundle_fingerprint,
        capability=ready.servable.capability,
        timeout_s=_timeout_s(ready.servable.capability, settings),
    )


def _timeout_s(capability: str | None, settings: ServeSettings) -> float:
    if settings.limits.timeout_s is not None:
        return settings.limits.timeout_s
    row = CAPABILITIES.get(capability or "")
    return row.default_timeout_s if row is not None else settings.timeout_s
