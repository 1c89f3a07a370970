"""How callers' wishes change a deployment's row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime

from sqlalchemy.orm import Session

from roost.contracts.autoscaling import Autoscaling
from roost.contracts.deployment import Rollout
from roost.errors import NameTaken
from roost.records.deployments import DeploymentRow, find_by_live_name
from roost.records.events import Happening
from roost.services.deployment_target import Target, Wish
from roost.serving.spec import restarts_replicas
from roost.serving.state import NOT_STARTED, SERVING


def running_replicas(row: DeploymentRow) -> int:
    """How many replicas of any version answered when Ray was last seen."""
    return sum(replica.get("state") in SERVING for replica in row.replicas)


def serves(row: DeploymentRow) -> bool:
    """Whether a replica of any version was running when Ray was last seen."""
    return running_replicas(row) > 0


def wish_of(row: DeploymentRow) -> Wish:
    """How it is wanted to be run."""
    rollout: Rollout = "in_place" if row.rollout == "in_place" else "wait"
    autoscaling = Autoscaling.model_validate(row.autoscaling) if row.autoscaling is not None else None
    return Wish(row.num_replicas, autoscaling, rollout, row.pinned, row.idle_timeout_s)


def is_settled_on(row: DeploymentRow, target: Target) -> bool:
    """Whether `target` is what is wanted already, and has not failed."""
    if not row.present or row.phase == "failed" or wish_of(row) != target.wish:
        return False
    # How many it started with, when load decides, is no wish.
    return row.application == target.application or (
        row.autoscaling is not None and _as_started(row) == target.application
    )


def find_loser(session: Session, name: str, key: str, *, take: bool) -> DeploymentRow | None:
    """The other deployment that would lose `name` to `key`; None where nobody has it.

    Raises:
        NameTaken: naming the holder, without `take`.
    """
    holder = find_by_live_name(session, name)
    if holder is None or holder.key == key:
        return None
    if not take:
        raise NameTaken(
            f"the name {name!r} belongs to the deployment {holder.key!r}.",
            hint="Give another name=..., or move the name here with take_name=True (--take-name).",
        )
    return holder


def claim_name(session: Session, name: str, key: str, *, take: bool) -> DeploymentRow | None:
    """Make sure that `key` may have `name`; with `take`, its holder goes on under its full key.

    Returns:
        The deployment that had the name and has it no more.

    Raises:
        NameTaken: as `find_loser`.
    """
    holder = find_loser(session, name, key, take=take)
    if holder is None:
        return None
    holder.name = holder.live_name = holder.key
    holder.version += 1
    session.flush()  # the name must be free before it is written to another row
    return holder


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


def update(row: DeploymentRow, target: Target, now: datetime) -> Happening:
    """Change what is deployed, or try again what failed; what that comes to."""
    serving = serves(row)
    restarts = restarts_replicas(row.application, target.application)
    failed = row.phase == "failed"
    before = wish_of(row)
    if restarts:
        row.restarts = 0
    elif failed and serving:
        row.restarts += 1
    if failed and not serving:
        row.step = "clear"
    if serving and row.bundle_fingerprint != target.bundle_fingerprint:
        replaced = row.replaced_bundle_fingerprint or row.bundle_fingerprint
        row.replaced_bundle_fingerprint = replaced if replaced != target.bundle_fingerprint else ""
    _want(row, target, now)
    row.phase = "deploying"
    return _happening(row, before, target, restarts=restarts, failed=failed)


def end(row: DeploymentRow) -> None:
    """Undeploy. The row stays, so that undeploying again is no error."""
    row.present = False
    row.live_name = None
    row.generation += 1
    row.version += 1
    row.failures = 0
    row.retry_at = None
    row.pause = ""
    row.in_place = False
    row.phase = "deleting"
    row.message = ""


def _happening(
    row: DeploymentRow, before: Wish, target: Target, *, restarts: bool, failed: bool
) -> Happening:
    data = {"generation": row.generation, "bundle": target.bundle_fingerprint}
    if restarts:
        return Happening("updated", row.key, "Its replicas are to be replaced.", data)
    if failed:
        return Happening("updated", row.key, "It failed and is to be started again.", data)
    wish = target.wish
    if (before.num_replicas, before.autoscaling) == (wish.num_replicas, wish.autoscaling):
        told = " ".join(_changed(before, wish)) or "Its settings are others now."
        return Happening("updated", row.key, f"{told} No replica restarts.", data)
    scale = wish.autoscaling
    count = f"{scale.min_replicas} to {scale.max_replicas}" if scale else str(wish.num_replicas)
    wanted = "Wanted is 1 replica" if count == "1" else f"Wanted are {count} replicas"
    return Happening("scaled", row.key, f"{wanted}; none restarts.", data)


def _changed(before: Wish, wish: Wish) -> Iterator[str]:
    """What is wanted otherwise, besides the number of replicas; a sentence each."""
    if before.pinned != wish.pinned:
        yield "It is pinned now." if wish.pinned else "It is pinned no more."
    if before.idle_timeout_s != wish.idle_timeout_s:
        limit_s = wish.idle_timeout_s
        yield (
            "It is not paused for being idle from now on."
            if limit_s is None
            else f"It is paused after {limit_s:g} s without a request from now on."
        )
    if before.rollout != wish.rollout:
        yield f"Its rollout is {wish.rollout!r} now."


def _as_started(row: DeploymentRow) -> dict[str, object]:
    """The application as it would be computed for the same wish, with nothing running."""
    part = {**row.application["deployments"][0], "autoscaling_config": wish_of(row).scale(0)}
    return {**row.application, "deployments": [part]}


def _want(row: DeploymentRow, target: Target, now: datetime) -> None:
    wish = target.wish
    row.config = target.config
    row.num_replicas = wish.num_replicas
    row.autoscaling = wish.autoscaling.model_dump(mode="json") if wish.autoscaling else None
    row.rollout = wish.rollout
    row.pinned = wish.pinned
    row.idle_timeout_s = wish.idle_timeout_s
    row.requirements = asdict(target.requirements)
    row.application = target.application
    row.capability = target.capability
    row.timeout_s = target.timeout_s
    row.bundle_fingerprint = target.bundle_fingerprint
    row.deployed_at = now
    row.generation += 1
    row.version += 1
    row.failures = 0
    row.retry_at = None
    row.pause = ""
    row.in_place = False
    row.used_at = now
    row.message = ""
