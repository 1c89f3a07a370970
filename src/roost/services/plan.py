"""What a deploy would do, found out without doing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from roost.contracts.info import NodeInfo
from roost.contracts.placement import (
    DeployPlan,
    PlannedReplica,
    PlannedRestart,
    RestartReason,
    SpecChange,
)
from roost.records.deployments import DeploymentRow
from roost.services.deployment_rows import serves, wish_of
from roost.services.deployment_target import Target, Wish
from roost.services.plan_room import room_for
from roost.services.targets import Asked
from roost.serving.differences import changes_between, restart_reasons
from roost.serving.forecast import place_replicas
from roost.serving.room import resources_of
from roost.serving.scale import initial
from roost.serving.spec import replica_options, restarts_replicas, with_restarts

Action = Literal["none", "deploy", "restart", "retry", "update"]


@dataclass(frozen=True, slots=True)
class Before:
    """A deployment as it is recorded; nothing of what is not deployed."""

    spec: Mapping[str, Any]
    application: Mapping[str, Any]
    replicas: Sequence[Mapping[str, Any]]
    requirements: Mapping[str, Any] | None
    restarts: int

    @staticmethod
    def of(row: DeploymentRow | None) -> Before:
        """Of a live row."""
        if row is None:
            return Before({}, {}, (), None, 0)
        application = with_restarts(row.application, row.restarts)
        spec = {**application, **_wish(row.name, wish_of(row))}
        # One that is stopping gives its room back whatever is deployed.
        replicas = [replica for replica in row.replicas if replica.get("state") != "STOPPING"]
        return Before(spec, application, replicas, row.requirements, row.restarts)


def plan_of(
    asked: Asked,
    target: Target,
    nodes: Sequence[NodeInfo] | None,
    node_names: Mapping[str, str],
    *,
    loser: str | None,
    rows: Callable[[], Sequence[DeploymentRow]],
    now: datetime,
) -> DeployPlan:
    """The plan of a request.

    Args:
        target: What `asked` comes to, placed; its own while it is settled.
        nodes: None while Ray does not answer.
        loser: The deployment that has the wanted name now.
        rows: Reads all active deployments, when it matters who holds room.
    """
    plan = DeployPlan(
        key=str(asked.key), name=asked.name, rollout=target.wish.rollout, changes=False, action="none"
    )
    if asked.settled:
        return plan.model_copy(update={"message": "Nothing would change."})
    before = Before.of(asked.row)
    action, reasons = _action(asked, before, target)
    replaces = action in ("restart", "retry") and bool(before.replicas)
    wanted = initial(target.application)
    count = wanted if replaces else max(0, wanted - len(before.replicas))
    options = replica_options(target.application)
    planned = place_replicas(options, count, nodes) if nodes is not None else []
    beside = all(replica.node_id for replica in planned) if replaces and nodes is not None else None
    freed: Mapping[str, Mapping[str, float]] = {}
    if nodes is not None and beside is False and plan.rollout == "in_place":
        freed = _freed(before)
        planned = place_replicas(options, count, nodes, freed)
    plan = plan.model_copy(
        update={
            "changes": True,
            "action": action,
            "reasons": reasons,
            "spec": _spec_changes(asked, before, target, action),
            "restarts": _restarts(before, node_names) if replaces else [],
            "side_by_side": beside,
            "new_replicas": planned,
            "takes_name_from": loser,
        }
    )
    if not all(replica.node_id for replica in planned):
        decision = room_for(plan, options, nodes or (), rows(), freed, now)
        waiting = "" if decision.victims and not decision.stuck else decision.message
        plan = plan.model_copy(update={"pauses": list(decision.victims), "waiting": waiting})
    surplus = 0 if replaces else max(0, len(before.replicas) - wanted)
    return plan.model_copy(update={"message": " ".join(_sentences(plan, count, surplus))})


def _action(asked: Asked, before: Before, target: Target) -> tuple[Action, list[RestartReason]]:
    row = asked.row
    if row is None:
        return "deploy", []
    if restarts_replicas(row.application, target.application):
        other = before.requirements != asdict(target.requirements)
        reasons = restart_reasons(row.application, target.application, other_requirements=other)
        return "restart", reasons or ["failed"]
    return ("retry", ["failed"]) if row.phase == "failed" else ("update", [])


def _spec_changes(asked: Asked, before: Before, target: Target, action: Action) -> list[SpecChange]:
    restarts = 0
    if asked.row is not None and action != "restart":
        restarts = before.restarts + (action == "retry" and serves(asked.row))
    application = with_restarts(target.application, restarts)
    return changes_between(before.spec, {**application, **_wish(asked.name, target.wish)})


def _wish(name: str, wish: Wish) -> dict[str, Any]:
    """What is wanted beside the application, whose own `name` never changes."""
    scale = wish.autoscaling
    return {
        "name": name,
        "num_replicas": wish.num_replicas,
        "autoscaling": scale.model_dump(mode="json") if scale is not None else None,
        "rollout": wish.rollout,
        "pinned": wish.pinned,
        "idle_timeout_s": wish.idle_timeout_s,
    }


def _restarts(before: Before, node_names: Mapping[str, str]) -> list[PlannedRestart]:
    return [
        PlannedRestart(replica_id=replica["replica_id"], node_name=node_names.get(replica["node_id"] or ""))
        for replica in before.replicas
    ]


def _freed(before: Before) -> dict[str, dict[str, float]]:
    """What the old replicas hold, by node id."""
    held = resources_of(replica_options(before.application))
    freed: dict[str, dict[str, float]] = {}
    for replica in before.replicas:
        if replica["node_id"]:
            on_node = freed.setdefault(replica["node_id"], {})
            for name, amount in held.items():
                on_node[name] = on_node.get(name, 0.0) + amount
    return freed


def _sentences(plan: DeployPlan, count: int, surplus: int) -> list[str]:
    return [
        text
        for text in (
            _what(plan, count, surplus),
            _name(plan),
            _where(plan.new_replicas, count),
            _pauses(plan.pauses),
            plan.waiting,
            _rollout(plan),
        )
        if text
    ]


def _what(plan: DeployPlan, count: int, surplus: int) -> str:
    match plan.action:
        case "deploy":
            return f"It would be deployed as {plan.name!r}."
        case "restart" | "retry" if plan.restarts:
            return f"{_replicas(len(plan.restarts))} would be replaced: {', '.join(plan.reasons)}."
        case "restart" | "retry":
            return "It would be started afresh."
    if surplus:
        return f"No replica would restart; {_replicas(surplus)} would stop."
    return "No replica would restart." if not count else "No running replica would restart."


def _name(plan: DeployPlan) -> str:
    loser = plan.takes_name_from
    return f"{loser!r} would lose the name {plan.name!r} and go on under its key." if loser else ""


def _pauses(keys: Sequence[str]) -> str:
    if not keys:
        return ""
    names = " and ".join(repr(key) for key in keys)
    return f"For that {names} would be paused, once idle."


def _where(planned: Sequence[PlannedReplica], count: int) -> str:
    if not count:
        return ""
    if not planned:
        return f"{_replicas(count)} would start once Ray answers."
    placed = [replica.node_name for replica in planned if replica.node_name]
    waiting = [replica for replica in planned if not replica.node_name]
    parts = [f"{_replicas(placed.count(name))} would start on {name!r}" for name in dict.fromkeys(placed)]
    if waiting:
        rooms = " or ".join(repr(name) for name in waiting[0].waits_for) or "a node that is not there yet"
        parts.append(f"{_replicas(len(waiting))} would wait for room on {rooms}")
    return f"{', '.join(parts)}."


def _rollout(plan: DeployPlan) -> str:
    if plan.side_by_side is None:
        return ""
    if plan.side_by_side:
        return "Old and new fit beside each other: the old ones serve until the new ones run."
    if plan.rollout == "in_place":
        return (
            "Old and new do not fit beside each other: the old ones would stop first (in_place), with a gap."
        )
    return "Old and new do not fit beside each other: the old ones would serve until there is room (wait)."


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"
