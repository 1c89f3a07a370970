"""Deployments, as `import roost` offers them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from roost.client import control_calls
from roost.client.deployment import Deployment
from roost.contracts.autoscaling import Autoscaling
from roost.contracts.deployment import ReplicaPlacement, Rollout, ServingStatus
from roost.errors import ModelDeployFailed, ModelNotDeployed, Timeout
from roost.keys import DeploymentKey, ModelKey
from roost.sdk.arguments import check_timeout, deploy_request
from roost.sdk.connection import current_client
from roost.sdk.progress import waiting

_LONG_POLL_S = 20.0


def deploy_model(
    family: str,
    suffix: str,
    run_name: str,
    num_replicas: int = 1,
    wait: bool = False,
    timeout: float | None = 300.0,
    config: Mapping[str, str] | None = None,
    name: str | None = None,
    autoscaling: Autoscaling | Mapping[str, Any] | None = None,
    *,
    take_name: bool = False,
    rollout: Rollout = "wait",
    pinned: bool = False,
    idle_timeout_s: float | None = None,
) -> Deployment:
    """Deploy a model; one deployment for each distinct config.

    A call that changes nothing costs one request. A change of `num_replicas` or `autoscaling` restarts
    nothing.

    Args:
        num_replicas: How many copies; with `autoscaling`, how many it starts with.
        wait: Return once it runs, instead of once it is recorded.
        timeout: Longest wait in seconds; None waits for ever.
        config: Laid over the model's config.
        name: The alias callers use; default `family/suffix`, with a config `family/suffix@fingerprint`.
        autoscaling: Let the load decide how many: `{"min_replicas": 0, "max_replicas": 4}`.
        take_name: Move `name` here from another deployment in the same write.
        rollout: What an update does where old and new replicas have no room beside each other: `wait`
            until there is, while the old ones serve; or replace them `in_place`, with a gap.
        pinned: Never pause it to make room for another.
        idle_timeout_s: Pause it after so many seconds without a request; the next request wakes it.

    Raises:
        ModelNotFound, ModelNotReady, NameTaken, Infeasible, InvalidConfig: nothing is written.
        ValidationFailed: for an argument of another type or out of its range; nothing is sent.
        ModelDeployFailed, Timeout: with `wait`, as `wait_for_model_serving` raises them.
    """
    check_timeout(timeout)
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
    deployment = current_client().run(control_calls.deploy(ModelKey(family, suffix, run_name), request))
    return wait_for_model_serving(deployment.key, timeout) if wait else deployment


def redeploy_model(key: DeploymentKey) -> Deployment:
    """The same replicas and config, with the model's current bundle, requirements and config.

    Raises:
        ModelNotDeployed: when nothing is deployed under the key.
    """
    return current_client().run(control_calls.redeploy(key))


def undeploy_model(key: DeploymentKey) -> None:
    """Remove a deployment. Doing so twice is no error.

    Raises:
        ModelNotDeployed: when nothing was ever deployed under the key.
    """
    current_client().run(control_calls.undeploy(key))


def wait_for_model_serving(key: DeploymentKey, timeout: float | None = None) -> Deployment:
    """Wait until the deployment runs. It is looked at least once, whatever the time-out.

    Args:
        timeout: Seconds; None waits for ever.

    Raises:
        ModelDeployFailed: when it failed (with the constructor's own error) or nothing is deployed.
        Timeout: naming the deployment, its phase and its message.
        ValidationFailed: when `timeout` is no number.
    """
    check_timeout(timeout)
    client = current_client()
    deadline = None if timeout is None else time.monotonic() + timeout
    deployment = _first_look(key)
    with waiting(_described(deployment)) as show:
        while not _serves(deployment):
            left_s = _LONG_POLL_S if deadline is None else deadline - time.monotonic()
            if left_s <= 0:
                raise Timeout(
                    f"{str(key)!r} did not serve within {timeout:g} s: {_described(deployment)}.",
                    hint=f"It goes on; see `roost status {key}` and `roost logs {key}`.",
                )
            call = control_calls.get_deployment(
                key, after_version=deployment.version, wait_s=min(left_s, _LONG_POLL_S)
            )
            deployment = client.run(call)
            show(_described(deployment))
    return deployment


def model_serving_status(key: DeploymentKey) -> ServingStatus:
    """How the deployment stands, as last observed; writes nothing.

    Raises:
        ModelNotDeployed: when nothing was ever deployed under the key.
    """
    return _get(key).status()


def model_replica_placements(key: DeploymentKey) -> list[ReplicaPlacement]:
    """Where the replicas run, as last observed."""
    return _get(key).replicas


def model_serving_messages(key: DeploymentKey) -> list[str]:
    """Why the deployment is in its phase, a line each, without terminal escapes."""
    return _get(key).told().splitlines()


def list_deployed_models() -> list[Deployment]:
    """The deployments that are wanted, or still on their way out (`deleting`), in the order of their keys."""
    return current_client().run(control_calls.list_deployments(live=True)).items


def _get(key: DeploymentKey) -> Deployment:
    return current_client().run(control_calls.get_deployment(key))


def _first_look(key: DeploymentKey) -> Deployment:
    try:
        return _get(key)
    except ModelNotDeployed as error:
        raise _not_deployed(key) from error


def _not_deployed(key: DeploymentKey) -> ModelDeployFailed:
    return ModelDeployFailed(f"{str(key)!r} is not deployed.", hint="Deploy it with roost.deploy_model.")


def _serves(deployment: Deployment) -> bool:
    """True when it runs what is wanted now; raises when it will not."""
    key = str(deployment.key)
    if deployment.phase in {"not_deployed", "deleting"}:
        raise _not_deployed(deployment.key)
    if deployment.observed_generation < deployment.generation:
        return False
    if deployment.phase == "failed":
        raise ModelDeployFailed(
            f"{key!r} failed to deploy: {deployment.message or 'Ray gave no reason'}",
            hint=f"See `roost logs {key}`.",
        )
    return deployment.phase in {"running", "paused"}


def _described(deployment: Deployment) -> str:
    message = deployment.told().strip().splitlines()
    about = f": {message[-1]}" if message else ""
    return f"{deployment.key} is {deployment.phase}{about}"
