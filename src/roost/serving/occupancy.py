"""Who holds room on which node, who waits for some, and who is about to give some back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from roost.contracts.deployment import Rollout
from roost.serving.observed import ObservedReplica
from roost.serving.room import resources_of
from roost.serving.state import RUNNING, SERVING, State, Wanted
from roost.serving.usage import Usage

STARTING: Final = "STARTING"
STOPPING: Final = "STOPPING"

IDLE_S: Final = 2.0
"""A model that was used less than so long ago is not taken for idle: its caller may ask again at once."""

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)

Amounts = Mapping[str, float]
"""Resources by Ray's names."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Replicas of one deployment that Ray has not placed.

    Attributes:
        beside: It is an update, and replicas of the version before serve meanwhile.
    """

    key: str
    options: Mapping[str, Any]
    replicas: int = 1
    beside: bool = False
    rollout: Rollout = "wait"


@dataclass(frozen=True, slots=True)
class Holder:
    """A deployment with replicas on nodes.

    Attributes:
        nodes: Its replicas by node id.
        used_at: When it was last deployed, woken or asked.
        obstacle: Why it may not be paused; empty when it may.
    """

    key: str
    options: Mapping[str, Any]
    nodes: Mapping[str, int]
    used_at: datetime
    obstacle: str = ""
    resources: Amounts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "resources", resources_of(self.options))

    def share(self, node_id: str) -> dict[str, float]:
        """What it holds of a node."""
        count = self.nodes.get(node_id, 0)
        return {name: amount * count for name, amount in self.resources.items()}


def unplaced(state: State) -> list[ObservedReplica]:
    """Replicas that are on no node yet: they wait for room, or their process is just starting."""
    return [each for each in state.replicas if each.state == STARTING and each.node_id is None]


def waiting(wanted: Wanted, state: State, replicas: int) -> Waiting:
    """A deployment of which so many replicas wait."""
    beside = not state.in_place and any(each.outdated and each.state in SERVING for each in state.replicas)
    return Waiting(wanted.key, options_of(wanted), replicas, beside, wanted.rollout)


def last_used(state: State) -> datetime:
    """When it was last known to be used; long ago for a record that does not say."""
    return state.used_at or _LONG_AGO


def holder(wanted: Wanted, state: State) -> Holder:
    """A deployment with what is known of it without asking it."""
    nodes = Counter(each.node_id for each in state.replicas if each.node_id and each.state in SERVING)
    return Holder(wanted.key, options_of(wanted), nodes, last_used(state), _obstacle(wanted, state))


def asked(known: Holder, usage: Usage | None, now: datetime) -> Holder:
    """The same with what its replicas say of themselves; None when they say nothing."""
    if usage is None:
        return _hindered(known, known.used_at, "does not say whether it is idle")
    used_at = max(known.used_at, now - timedelta(seconds=usage.idle_s))
    if usage.in_flight:
        return _hindered(known, now, "is busy")
    return _hindered(known, used_at, "is busy" if now - used_at < timedelta(seconds=IDLE_S) else "")


def leaving(pairs: Iterable[tuple[Wanted, State]]) -> dict[str, Amounts]:
    """By node what comes back without anything being done: what stops, and what is told to stop."""
    result: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for wanted, state in pairs:
        leaves = state.pause == "paused" or not wanted.present
        for each in state.replicas:
            going = leaves or each.state == STOPPING or (each.outdated and state.in_place)
            if each.node_id and going:
                for name, amount in resources_of(options_of(wanted)).items():
                    result[each.node_id][name] += amount
    return {node_id: dict(amounts) for node_id, amounts in result.items()}


def options_of(wanted: Wanted) -> Mapping[str, Any]:
    """The actor options of one replica; none for a record that has none."""
    options: Mapping[str, Any] = wanted.application["deployments"][0].get("ray_actor_options", {})
    return options


def _obstacle(wanted: Wanted, state: State) -> str:
    if wanted.pinned:
        return "is pinned"
    if state.phase != "running":
        return f"is {state.phase}"
    settled = all(each.state == RUNNING and not each.outdated for each in state.replicas)
    return "" if settled else "is changing"


def _hindered(known: Holder, used_at: datetime, obstacle: str) -> Holder:
    return Holder(known.key, known.options, known.nodes, used_at, obstacle)
