"""Deployments that were wanted while Ray's nodes were not known: their cards are chosen later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import InvalidRequirements
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, find_deployment, list_active
from roost.records.events import Happening, add_event
from roost.services.deployment_rows import serves
from roost.serving.placement import actor_options, is_placed
from roost.serving.spec import replica_options


def list_unplaced(db: Database) -> list[DeploymentRow]:
    """Live deployments without a card chosen, ordered by key; what serves already is left where it is."""
    with db.read() as session:
        return [
            row for row in list_active(session) if row.present and not serves(row) and not _is_placed(row)
        ]


def place(db: Database, rows: Sequence[DeploymentRow], nodes: Sequence[NodeInfo], now: datetime) -> list[str]:
    """Choose the cards of `rows` from `nodes`; what no node could ever hold, or has changed since, is left.

    Returns:
        The keys of those that have a place now.
    """
    placed = []
    for row in rows:
        requirements = ModelRequirements(**row.requirements)
        options = actor_options(requirements, replica_options(row.application)["num_cpus"], nodes)
        if is_placed(options) and _write(db, row, options, now):
            placed.append(row.key)
    return placed


def _is_placed(row: DeploymentRow) -> bool:
    """Whether nothing is to be chosen; so too where the record cannot be read, which the reconciler tells."""
    try:
        ModelRequirements(**row.requirements)
        return is_placed(replica_options(row.application))
    except (KeyError, IndexError, TypeError, AttributeError, InvalidRequirements):
        return True


def _write(db: Database, row: DeploymentRow, options: dict[str, Any], now: datetime) -> bool:
    with db.write() as session:
        fresh = find_deployment(session, row.deployment_key)
        if fresh is None or fresh.generation != row.generation:
            return False
        part = {**fresh.application["deployments"][0], "ray_actor_options": options}
        fresh.application = {**fresh.application, "deployments": [part]}
        fresh.generation += 1
        fresh.version += 1
        told = "Ray's nodes are known now: it is placed by the sizes of their cards."
        add_event(session, Happening("updated", row.key, told, {"generation": fresh.generation}), now)
    return True
