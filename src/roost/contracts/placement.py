"""Where replicas can run, and what a deploy would do."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from roost.contracts.base import Wire
from roost.contracts.deployment import Rollout
from roost.contracts.requirements import ModelRequirements


class ExplainRequest(Wire):
    """What is to be explained: a key, or requirements.

    Attributes:
        key: A deployment's, or a model's: `family/suffix/run_name[@fingerprint]`.
    """

    key: str | None = None
    requirements: ModelRequirements | None = None


class NodeFit(Wire):
    """One node beside what one more replica needs. Amounts by Ray's names; memory in bytes.

    Attributes:
        tier: Which of the sizes of cards the node has, 0 for the smallest; None for a node Ray never tries.
        card_mib: Size of one card by the node's label; None without a well-formed one.
        fits: Whether a replica would start there now.
        could_fit: Whether one ever could, were the node empty.
        reason: Why it does not fit; empty when it does.
        free: What no actor holds now, of what is needed.
        total: What the node has in all, of what is needed.
    """

    node_id: str
    name: str
    alive: bool
    tier: int | None = None
    card_mib: int | None = None
    fits: bool
    could_fit: bool
    reason: str = ""
    needed: dict[str, float] = Field(default_factory=dict)
    free: dict[str, float] = Field(default_factory=dict)
    total: dict[str, float] = Field(default_factory=dict)


class PlacementExplanation(Wire):
    """Where one more replica could run, and why not elsewhere.

    Attributes:
        key: What was asked for; None for plain requirements.
        deployed: Whether the options are those of a live deployment; else what a deploy would ask for now.
        needed: By Ray's names; memory in bytes.
        actor_options: What Ray is asked for: `ray_actor_options` of the application.
        gpu_share: Why `needed` has another share of a card than the requirements; empty when it has not.
        tiers: Sizes of cards in MiB in the order in which Ray tries them; empty when any node will do.
        nodes: In the order in which Ray tries them, those it never tries last.
    """

    key: str | None = None
    deployed: bool = False
    requirements: ModelRequirements
    needed: dict[str, float]
    actor_options: dict[str, Any]
    gpu_share: str = ""
    tiers: list[int] = Field(default_factory=list)
    nodes: list[NodeFit] = Field(default_factory=list)


RestartReason = Literal["code", "weights", "config", "requirements", "settings", "failed"]


class SpecChange(Wire):
    """One value of what is wanted that would change; None where there is none.

    Attributes:
        path: For example `deployments.App.autoscaling_config.min_replicas`.
    """

    path: str
    old: Any = None
    new: Any = None


class PlannedReplica(Wire):
    """A replica that would start.

    Attributes:
        node_id, node_name: Where there is room for it now; None when it would wait.
        waits_for: Names of the nodes that could ever hold it, when it would wait for room on one.
    """

    node_id: str | None = None
    node_name: str | None = None
    waits_for: list[str] = Field(default_factory=list)


class PlannedRestart(Wire):
    """A running replica that would be replaced."""

    replica_id: str
    node_name: str | None = None


class DeployPlan(Wire):
    """What a deploy would do now. Nothing of it was written.

    Attributes:
        changes: Whether it would do anything at all.
        action: `none`; `deploy` what is not deployed; `restart` its replicas with another version; `retry`
            what failed; `update` it without a restart.
        spec: What would change of what is wanted.
        restarts: The replicas that would be replaced, and `reasons` why.
        side_by_side: Whether all new replicas fit beside the old ones; None when none is replaced, or
            Ray's nodes are not known.
        rollout: The chosen one.
        new_replicas: Those that would start, and where; empty also while Ray's nodes are not known.
        pauses: Keys of the models that the scheduler would pause for those without room, once they are idle.
        waiting: Why some would wait all the same, and for what; empty when none would.
        takes_name_from: Key of the deployment that would lose the name, with `take_name`.
        message: All of it in a few sentences.
    """

    key: str
    name: str
    changes: bool
    action: Literal["none", "deploy", "restart", "retry", "update"]
    spec: list[SpecChange] = Field(default_factory=list)
    restarts: list[PlannedRestart] = Field(default_factory=list)
    reasons: list[RestartReason] = Field(default_factory=list)
    side_by_side: bool | None = None
    rollout: Rollout = "wait"
    new_replicas: list[PlannedReplica] = Field(default_factory=list)
    pauses: list[str] = Field(default_factory=list)
    waiting: str = ""
    takes_name_from: str | None = None
    message: str = ""
