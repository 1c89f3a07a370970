"""How callers change and remove an entry besides writing it; each runs inside the caller's write session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from sqlalchemy.orm import Session

from roost.contracts.requirements import ModelRequirements
from roost.errors import ModelInUse
from roost.keys import DeploymentConfig
from roost.records.claims import find_claim
from roost.records.deployments import list_of_model
from roost.records.events import Happening, add_event
from roost.records.models import ModelRow
from roost.services.model_phases import busy, store_requirements

_MOST_NAMED: Final = 5


def change_config(session: Session, row: ModelRow, config: DeploymentConfig, now: datetime) -> None:
    """Replace the config and tell of it; the one that is stored already writes nothing."""
    if row.config == config:
        return
    row.config = config
    keys = ", ".join(config) or "nothing"
    told = f"Its config sets {keys}, from the next deploy on."
    add_event(session, Happening("config_set", str(row.key), told, {"keys": sorted(config)}), now)


def change_requirements(
    session: Session, row: ModelRow, requirements: ModelRequirements, now: datetime
) -> None:
    """Replace the requirements and tell of it; those that are stored already write nothing."""
    if row.requirements == asdict(requirements):
        return
    store_requirements(row, requirements)
    told = f"It needs {requirements}, from the next deploy on."
    add_event(session, Happening("requirements_set", str(row.key), told, asdict(requirements)), now)


def remove(session: Session, row: ModelRow, now: datetime) -> None:
    """Remove the entry and a lapsed claim on it, and tell of it. What it stored goes by collection.

    Raises:
        ModelInUse: while deployments of it are wanted; naming them.
        ModelBusy: while a live writer holds the claim; naming it.
    """
    users = [user.key for user in list_of_model(session, row.key) if user.present]
    if users:
        raise _in_use(row, users)
    claim = find_claim(session, row.key)
    if claim is not None and claim.expires_at > now:
        raise busy(row, claim, now)
    session.delete(row)  # the claim goes with it
    session.flush()
    add_event(
        session, Happening("model_deleted", str(row.key), "It was deleted.", {"digest": row.digest}), now
    )


def _in_use(row: ModelRow, users: Sequence[str]) -> ModelInUse:
    named = list(users[:_MOST_NAMED])
    more = f" and {len(users) - len(named)} more" if len(users) > len(named) else ""
    commands = " && ".join(f"roost undeploy {user}" for user in named)
    return ModelInUse(
        f"{str(row.key)!r} is used by the deployment{'s' if len(users) > 1 else ''} "
        f"{', '.join(map(repr, named))}{more}.",
        hint=f"Undeploy first: `{commands}`.",
    )
