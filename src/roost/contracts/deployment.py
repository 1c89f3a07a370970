"""Deployments and what is seen of them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from roost.contracts.autoscaling import Autoscaling
from roost.contracts.base import Wire
from roost.keys import DeploymentKey

DeploymentPhase = Literal[
    "not_deployed", "not_started", "deploying", "running", "paused", "unhealthy", "failed", "deleting"
]

Rollout = Literal["wait", "in_place"]


class DeployRequest(Wire):
    """Desired state of one deployment.

    Attributes:
        config: Laid over the model's config; its fingerprint is part of the deployment's key.
        num_replicas: With `autoscaling`, how many it starts with, kept between its bounds.
        name: The alias callers use; None keeps the present one, or takes the default.
        take_name: Move `name` here from another deployment, in the same write.
        rollout: What an update does where old and new replicas have no room beside each other: `wait`
            until there is, while the old ones serve; or replace them `in_place`, with a gap.
        pinned: It is never paused to make room for another.
        idle_timeout_s: Pause it after so long without a request; None never does.
    """

    config: dict[str, str] = Field(default_factory=dict)
    num_replicas: int = Field(default=1, ge=1, le=1000)
    name: str | None = None
    take_name: bool = False
    autoscaling: Autoscaling | None = None
    rollout: Rollout = "wait"
    pinned: bool = False
    idle_timeout_s: float | None = Field(default=None, gt=0, le=365 * 86_400)


class ReplicaPlacement(Wire):
    """Where one replica runs. `node_id` is None until Ray has placed it."""

    replica_id: str
    state: str
    node_id: str | None = None
    node_ip: str | None = None
    node_name: str | None = None


class Deployment(Wire):
    """One deployment: what is wanted of it and what was last seen.

    Attributes:
        url: The deployment's own URL, which works without the Roost server.
        message: Why it is in this phase, without terminal escapes; a failure carries the
            constructor's own error.
        bundle_fingerprint: The bundle that is wanted.
        replaced_bundle_fingerprint: The one still being replaced during a rollout, else `""`.
        num_replicas: How many are wanted; with `autoscaling`, how many it started with.
        failures: Failed starts of this generation.
        used_at: When it was last known to be used: deployed, woken, or asked by a caller. Its replicas are
            asked only when an idle limit or another's room depends on it: it may have been used since.
        generation: Counts the changes of the wanted state.
        observed_generation: The generation the last observation was of.
        version: Grows with every change of this record; for waiting on the next change.
        observed_at: When Ray was last seen, None before the first time.
        stale: The observation is older than Ray has been out of reach.
    """

    family: str
    suffix: str
    run_name: str
    config_fingerprint: str = ""
    name: str
    config: dict[str, str] = Field(default_factory=dict)
    url: str
    phase: DeploymentPhase
    message: str = ""
    bundle_fingerprint: str = ""
    replaced_bundle_fingerprint: str = ""
    num_replicas: int = 1
    autoscaling: Autoscaling | None = None
    rollout: Rollout = "wait"
    pinned: bool = False
    idle_timeout_s: float | None = None
    failures: int = 0
    used_at: datetime | None = None
    capability: str | None = None
    generation: int = 0
    observed_generation: int = 0
    version: int = 0
    observed_at: datetime | None = None
    stale: bool = False
    replicas: list[ReplicaPlacement] = Field(default_factory=list)

    @property
    def key(self) -> DeploymentKey:
        """The deployment's key."""
        return DeploymentKey(self.family, self.suffix, self.run_name, self.config_fingerprint)

    def told(self) -> str:
        """`message`, and how old all of this is when Ray has been out of reach since."""
        if not self.stale:
            return self.message
        since = f"at {self.observed_at:%Y-%m-%d %H:%M:%S %Z}" if self.observed_at else "never"
        return f"Ray is out of reach; last seen {since}. {self.message}".strip()

    def status(self) -> ServingStatus:
        """The part that says how it stands."""
        return ServingStatus(
            key=self.key,
            phase=self.phase,
            message=self.told(),
            url=self.url,
            observed_at=self.observed_at,
            stale=self.stale,
        )


class ServingStatus(Wire):
    """How a deployment stands, as last observed. `stale`: Ray has been out of reach since."""

    key: DeploymentKey
    phase: DeploymentPhase
    message: str = ""
    url: str = ""
    observed_at: datetime | None = None
    stale: bool = False


class DeploymentList(Wire):
    """All deployments, ordered by key."""

    items: list[Deployment]
