"""How callers' wishes change a deployment's row."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from roost.errors import NameTaken
from roost.records.deployments import DeploymentRow, find_by_live_name
from roost.services.deployment_target import Target
from roost.serving.spec import restarts_replicas
from roost.serving.transition import NOT_STARTED, RUNNING


def serves(row: DeploymentRow) -> bool:
    """Whether a replica of any version was running when Ray was last seen."""
    return any(replica.get("state") == RUNNING for replica in row.replicas)


def is_settled_on(row: DeploymentRow, target: Target) -> bool:
    """Whether `target` is what is wanted already, and has not failed."""
    return row.present and row.phase != "failed" and row.application == target.application


def claim_name(session: Session, name: str, key: str, *, take: bool) -> None:
    """Make sure that `key` may have `name`; with `take`, its holder goes on under its full key.

    Raises:
        NameTaken: naming the holder.
    """
    holder = find_by_live_name(session, name)
    if holder is None or holder.key == key:
        return
    if not take:
        raise NameTaken(
            f"the name {name!r} belongs to the deployment {holder.key!r}.",
            hint="Give another name=..., or move the name here with take_name=True (--take-name).",
        )
    holder.name = holder.live_name = holder.key
    holder.version += 1
    session.flush()  # the name must be free before it is written to another row


def new_row(target: Target, name: str, now: datetime) -> DeploymentRow:
    """The first row of a deployment: recorded, not yet told to Ray."""
    key = target.key
    row = DeploymentRow(
        key=str(key),
        family=key.family,
        suffix=key.suffix,
        run_name=key.run_name,
        config_fingerprint=key.config_fingerprint,
        generation=0,
        version=0,
        created_at=now,
        observed_generation=0,
        observed_at=None,
        stale=False,
    )
    begin(row, target, name, now)
    return row


def begin(row: DeploymentRow, target: Target, name: str, now: datetime) -> None:
    """Deploy what is not deployed, or no longer."""
    _want(row, target, now)
    row.present = True
    row.name = row.live_name = name
    row.step = "apply"
    row.restarts = 0
    row.phase = "not_started"
    row.ray_status = NOT_STARTED
    row.replicas = []
    row.replaced_bundle_fingerprint = ""


def update(row: DeploymentRow, target: Target, now: datetime) -> None:
    """Change what is deployed, or try again what failed."""
    serving = serves(row)
    if restarts_replicas(row.application, target.application):
        row.restarts = 0
    elif row.phase == "failed" and serving:
        row.restarts += 1
    if row.phase == "failed" and not serving:
        row.step = "clear"
    if serving and row.bundle_fingerprint != target.bundle_fingerprint:
        replaced = row.replaced_bundle_fingerprint or row.bundle_fingerprint
        row.replaced_bundle_fingerprint = replaced if replaced != target.bundle_fingerprint else ""
    _want(row, target, now)
    row.phase = "deploying"


def end(row: DeploymentRow) -> None:
    """Undeploy. The row stays, so that undeploying again is no error."""
    row.present = False
    row.live_name = None
    row.generation += 1
    row.version += 1
    row.failures = 0
    row.retry_at = None
    row.phase = "deleting"
    row.message = ""


def _want(row: DeploymentRow, target: Target, now: datetime) -> None:
    row.config = target.config
    row.num_replicas = target.num_replicas
    row.application = target.application
    row.capability = target.capability
    row.timeout_s = target.timeout_s
    row.bundle_fingerprint = target.bundle_fingerprint
    row.deployed_at = now
    row.generation += 1
    row.version += 1
    row.failures = 0
    row.retry_at = None
    row.message = ""
