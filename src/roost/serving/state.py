"""What is kept of a deployment between two rounds, and what callers want of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from roost.contracts.deployment import DeploymentPhase, Rollout
from roost.serving.observed import ObservedReplica
from roost.serving.spec import as_in_place, as_paused, with_restarts

Step = Literal["apply", "clear"]
Pause = Literal["", "paused", "waking"]

RUNNING: Final = "RUNNING"

SERVING: Final = frozenset({RUNNING, "RECOVERING", "UPDATING", "PENDING_MIGRATION"})
"""States of a replica that answers: also under the eyes of a new controller, or taking over settings."""

NOT_STARTED: Final = "NOT_STARTED"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What callers want of a deployment, as of `generation`."""

    key: str
    app_name: str
    generation: int
    present: bool
    application: dict[str, Any]
    rollout: Rollout = "wait"
    pinned: bool = False
    idle_timeout_s: float | None = None
    bundle_fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """What the reconciler keeps of a deployment; the fields are columns of the record."""

    step: Step
    failures: int
    retry_at: datetime | None
    restarts: int
    phase: DeploymentPhase
    message: str
    ray_status: str
    replicas: tuple[ObservedReplica, ...]
    replaced_bundle_fingerprint: str
    observed_generation: int
    pause: Pause = ""
    in_place: bool = False
    used_at: datetime | None = None


def paused(state: State, why: str, used_at: datetime | None) -> State:
    """The state of a deployment that is paused from now on; `used_at` is when it was last used."""
    return replace(state, pause="paused", phase="paused", message=why, used_at=used_at)


def target_of(wanted: Wanted, state: State) -> dict[str, Any]:
    """The application that Ray is to hold."""
    app = with_restarts(wanted.application, state.restarts)
    if state.pause == "paused":
        return as_paused(app)
    return as_in_place(app) if state.in_place else app
