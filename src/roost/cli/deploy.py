"""`roost deploy`, and its plan."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from roost.cli.arguments import ConfigOption, read_config
from roost.cli.output import JsonFlag, note, print_json, say
from roost.cli.plan import print_plan
from roost.client.deployment import Deployment
from roost.contracts.deployment import Rollout
from roost.keys import DeploymentKey, ModelKey
from roost.sdk.deployments import deploy_model, wait_for_model_serving
from roost.sdk.placement import plan_deploy

_REPLICAS_HELP = "How many copies; with --max-replicas, how many at the start."
_MIN_HELP = "Fewest copies, 1 if left out; with 0 it sleeps until a request comes."
_ROLLOUT_HELP = (
    "Where an update has no room for old and new at once: wait for it, or replace in_place, with a gap."
)


def deploy(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="family/suffix/run_name.")],
    config: ConfigOption = None,
    replicas: Annotated[int, typer.Option("--replicas", "-n", min=1, max=1000, help=_REPLICAS_HELP)] = 1,
    max_replicas: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Let the load decide, up to so many copies.")
    ] = None,
    min_replicas: Annotated[int | None, typer.Option(min=0, max=1000, help=_MIN_HELP)] = None,
    target_ongoing_requests: Annotated[
        float | None, typer.Option(help="Requests one copy works on or has queued, on average.")
    ] = None,
    rollout: Annotated[Rollout, typer.Option(help=_ROLLOUT_HELP)] = "wait",
    pinned: Annotated[bool, typer.Option("--pinned", help="Never pause it to make room for others.")] = False,
    idle_timeout: Annotated[
        float | None, typer.Option(help="Pause it after so many seconds without a request.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name callers use.")] = None,
    take_name: Annotated[bool, typer.Option(help="Take the name from another deployment.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what it would do.")] = False,
    wait: Annotated[bool, typer.Option(help="Return once it runs.")] = True,
    timeout: Annotated[float, typer.Option(min=0, help="Longest wait in seconds.")] = 300.0,
    as_json: JsonFlag = False,
) -> None:
    """Deploy a model, or change how it is deployed: what is left out takes its default, the name stays."""
    key = ModelKey.parse(model)
    wish: dict[str, Any] = {
        "num_replicas": replicas,
        "config": read_config(config),
        "name": name,
        "take_name": take_name,
        "autoscaling": _autoscaling(min_replicas, max_replicas, target_ongoing_requests, at_first=replicas),
        "rollout": rollout,
        "pinned": pinned,
        "idle_timeout_s": _positive("--idle-timeout", idle_timeout),
    }
    if plan:
        _show_plan(key, wish, as_json=as_json)
        return
    deployment = deploy_model(key.family, key.suffix, key.run_name, **wish)
    if wait:
        deployment = _wait(deployment.key, timeout)
    if as_json:
        print_json(deployment)
    else:
        say(f"{deployment.name} is {deployment.phase} at {deployment.url}")


def _show_plan(key: ModelKey, wish: dict[str, Any], *, as_json: bool) -> None:
    planned = plan_deploy(key.family, key.suffix, key.run_name, **wish)
    if as_json:
        print_json(planned)
    else:
        print_plan(planned)


def _wait(key: DeploymentKey, timeout: float) -> Deployment:
    try:
        return wait_for_model_serving(key, timeout)
    except KeyboardInterrupt:
        note(f"The deployment goes on; see `roost status {key}`, or end it with `roost undeploy {key}`.")
        raise


def _autoscaling(
    low: int | None, high: int | None, target: float | None, *, at_first: int
) -> dict[str, Any] | None:
    given = {"min_replicas": low, "max_replicas": high, "target_ongoing_requests": _positive(_TARGET, target)}
    chosen = {option: value for option, value in given.items() if value is not None}
    if not chosen:
        return None
    if high is None:
        names = " and ".join(f"--{option.replace('_', '-')}" for option in chosen)
        raise typer.BadParameter(f"{names} without --max-replicas: how many copies may it have at most?")
    if low is not None and low > high:
        raise typer.BadParameter(f"--min-replicas {low} is more than --max-replicas {high}.")
    if at_first > high:
        raise typer.BadParameter(f"--replicas {at_first} is more than --max-replicas {high}.")
    return chosen


_TARGET = "--target-ongoing-requests"


def _positive(option: str, value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{option} {value:g} is not above 0.")
    return value
