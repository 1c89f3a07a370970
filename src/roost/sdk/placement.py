"""Where replicas could run and what a deploy would do, as `import roost` offers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roost.client import control_calls
from roost.contracts.autoscaling import Autoscaling
from roost.contracts.deployment import Rollout
from roost.contracts.placement import DeployPlan, ExplainRequest, PlacementExplanation
from roost.contracts.requirements import ModelRequirements
from roost.keys import DeploymentKey, ModelKey
from roost.sdk.arguments import deploy_request
from roost.sdk.connection import current_client


def explain_placement(what: DeploymentKey | ModelKey | ModelRequirements) -> PlacementExplanation:
    """Where one more replica could run now, and per node why not; writes nothing.

    Args:
        what: A deployment, as it is deployed; a model, as it would be; or plain requirements.

    Raises:
        ModelNotFound, ModelNotDeployed: for a key that names nothing.
        EngineUnavailable: while Ray's nodes are not known.
    """
    if isinstance(what, ModelRequirements):
        request = ExplainRequest(requirements=what)
    else:
        request = ExplainRequest(key=str(what))
    return current_client().run(control_calls.explain_placement(request))


def plan_deploy(
    family: str,
    suffix: str,
    run_name: str,
    num_replicas: int = 1,
    wait: bool = False,  # noqa: ARG001  # a plan takes the arguments of `deploy_model`
    timeout: float | None = 300.0,  # noqa: ARG001
    config: Mapping[str, str] | None = None,
    name: str | None = None,
    autoscaling: Autoscaling | Mapping[str, Any] | None = None,
    *,
    take_name: bool = False,
    rollout: Rollout = "wait",
    pinned: bool = False,
    idle_timeout_s: float | None = None,
) -> DeployPlan:
    """What `deploy_model` would do with the same arguments; writes nothing.

    Args:
        wait, timeout: Say nothing about a plan.

    Raises:
        ModelNotFound, ModelNotReady, NameTaken, Infeasible: as `deploy_model`.
        InvalidConfig, ValidationFailed: likewise, and nothing is sent.
    """
    request = deploy_request(
        config=config,
        num_replicas=num_replicas,
        name=name,
        take_name=take_name,
        autoscaling=autoscaling,
        rollout=rollout,
        pinned=pinned,
        idle_timeout_s=idle_timeout_s,
    )
    return current_client().run(control_calls.plan_deploy(ModelKey(family, suffix, run_name), request))
