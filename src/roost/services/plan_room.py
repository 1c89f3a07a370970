"""What the scheduler would do for the replicas of a deploy that find no room."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from roost.contracts.info import NodeInfo
from roost.contracts.placement import DeployPlan
from roost.records.deployments import DeploymentRow
from roost.services.deployment_state import state_of, wanted_of
from roost.serving.occupancy import Amounts, Waiting, holder, leaving
from roost.serving.room import with_replica
from roost.serving.scheduler import Decision, make_room
from roost.serving.state import State, Wanted

_log = logging.getLogger("roost.deployments")


def room_for(
    plan: DeployPlan,
    options: Mapping[str, Any],
    nodes: Iterable[NodeInfo],
    rows: Iterable[DeploymentRow],
    freed: Mapping[str, Amounts],
    now: datetime,
) -> Decision:
    """Who would be paused for the replicas of `plan` that have no node, or why they would wait.

    Nobody is asked whether it is idle: all that may be paused are taken for idle as soon as that is wanted.

    Args:
        options: The actor options of one replica.
        rows: All active deployments.
        freed: By node id what the deployment's own old replicas give back first.
    """
    count = sum(replica.node_id is None for replica in plan.new_replicas)
    if count == 0:
        return Decision()
    pairs = [pair for pair in _pairs(rows) if pair[0].key != plan.key]
    holders = [holder(wanted, state) for wanted, state in pairs if wanted.present and state.pause != "paused"]
    coming = {node_id: dict(amounts) for node_id, amounts in leaving(pairs).items()}
    for node_id, amounts in freed.items():
        there = coming.setdefault(node_id, {})
        for name, amount in amounts.items():
            there[name] = there.get(name, 0.0) + amount
    beside = bool(plan.restarts) and not freed
    waiting = Waiting(plan.key, options, count, beside)
    there_then = _with_planned(plan, options, nodes)
    return make_room([waiting], there_then, holders, coming, now)[plan.key]


def _pairs(rows: Iterable[DeploymentRow]) -> list[tuple[Wanted, State]]:
    pairs = []
    for row in rows:
        try:
            pairs.append((wanted_of(row), state_of(row)))
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ) as error:  # the reconciler pauses no such one
            _log.error("deployment %r is left out of a plan: %r", row.key, error)
    return pairs


def _with_planned(
    plan: DeployPlan, options: Mapping[str, Any], nodes: Iterable[NodeInfo]
) -> Sequence[NodeInfo]:
    """The nodes once they hold the replicas that have room."""
    placed = Counter(replica.node_id for replica in plan.new_replicas)
    result = []
    for node in nodes:
        then = node
        for _ in range(placed[node.node_id]):
            then = with_replica(then, options)
        result.append(then)
    return result
