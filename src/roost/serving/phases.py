"""From Ray's statuses to Roost's phases, in one table."""

from __future__ import annotations

from typing import Final

from roost.contracts.deployment import DeploymentPhase

PHASES: Final[dict[str, DeploymentPhase]] = {
    "NOT_STARTED": "not_started",
    "DEPLOYING": "deploying",
    "RUNNING": "running",
    "UNHEALTHY": "unhealthy",
    "DEPLOY_FAILED": "failed",
    "DELETING": "deleting",
}


def effective_status(app_status: str, deployment_statuses: list[str]) -> str:
    """The application's status, seen through the flash of DEPLOYING that every PUT gives every application.

    A PUT sets all applications to DEPLOYING until the controller's next turn; what failed or is
    unhealthy is still known from its deployments then.
    """
    if app_status != "DEPLOYING":
        return app_status
    for status in ("DEPLOY_FAILED", "UNHEALTHY"):
        if status in deployment_statuses:
            return status
    return app_status


def phase_of(status: str, *, target: int | None, running: int) -> DeploymentPhase:
    """The phase of an application that Ray lists.

    Args:
        status: Ray's application status; one this table does not know reads `deploying`.
        target: Replicas Ray aims at; None while it does not say.
        running: Replicas of the wanted version that run.
    """
    phase = PHASES.get(status, "deploying")
    if phase == "running" and target == 0:
        return "paused"
    if phase == "running" and running == 0:
        return "deploying"
    if phase == "deploying" and target is not None and 0 < target <= running:
        return "running"  # only old replicas are left to drain
    return phase
