"""A deployment's record as the pure decisions read it."""

from __future__ import annotations

from typing import cast

from roost.contracts.deployment import DeploymentPhase, Rollout
from roost.records.deployments import DeploymentRow
from roost.serving.observed import ObservedReplica
from roost.serving.state import Pause, State, Step, Wanted


def wanted_of(row: DeploymentRow) -> Wanted:
    """What callers want.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: for a record that cannot be used.
    """
    application = row.application
    if not isinstance(application.get("args"), dict):
        raise TypeError("the stored application has no args")
    return Wanted(
        key=row.key,
        app_name=row.deployment_key.app_name,
        generation=row.generation,
        present=row.present,
        application=application,
        rollout=cast(Rollout, row.rollout),
        pinned=row.pinned,
        idle_timeout_s=row.idle_timeout_s,
        bundle_fingerprint=row.bundle_fingerprint,
    )


def state_of(row: DeploymentRow) -> State:
    """What was done and seen; raises as `wanted_of`."""
    return State(
        step=cast(Step, row.step),
        failures=row.failures,
        retry_at=row.retry_at,
        restarts=row.restarts,
        phase=cast(DeploymentPhase, row.phase),
        message=row.message,
        ray_status=row.ray_status,
        replicas=tuple(ObservedReplica(**item) for item in row.replicas),
        replaced_bundle_fingerprint=row.replaced_bundle_fingerprint,
        observed_generation=row.observed_generation,
        pause=cast(Pause, row.pause),
        in_place=row.in_place,
        used_at=row.used_at,
    )
