"""`roost undeploy`, `deployments` and `logs`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from roost.cli.arguments import ConfigOption, KeyArgument, find_key, read_config
from roost.cli.output import JsonFlag, note, print_fields, print_json, print_table, say
from roost.client import control_calls
from roost.contracts.deployment import Deployment
from roost.sdk.connection import current_client
from roost.sdk.deployments import list_deployed_models

app = typer.Typer(help="The deployments and how they stand.", invoke_without_command=True)


def undeploy(key: KeyArgument, config: ConfigOption = None, as_json: JsonFlag = False) -> None:
    """Remove a deployment; its model stays in the registry."""
    wanted = find_key(key, read_config(config))
    deployment = current_client().run(control_calls.undeploy(wanted))
    if as_json:
        print_json(deployment)
    else:
        note(f"{wanted} is {'gone' if deployment.phase == 'not_deployed' else 'being removed'}.")


def logs(
    key: KeyArgument,
    config: ConfigOption = None,
    tail: Annotated[int, typer.Option(min=1, max=10_000, help="How many lines.")] = 200,
    as_json: JsonFlag = False,
) -> None:
    """Print the last lines of the replicas' logs."""
    wanted = find_key(key, read_config(config))
    text = current_client().run(control_calls.deployment_logs(wanted, tail=tail))
    if as_json:
        print_json({"lines": text.splitlines()})
    else:
        say(text.rstrip("\n"))


@app.callback()
def deployments(context: typer.Context, as_json: JsonFlag = False) -> None:
    """The deployments and how they stand; without a command, their list."""
    if context.invoked_subcommand is None:
        show_list(as_json)


@app.command("list")
def show_list(as_json: JsonFlag = False) -> None:
    """List the deployments."""
    found = list_deployed_models()
    if as_json:
        print_json(found)
        return
    print_table(
        ("NAME", "DEPLOYMENT", "PHASE", "REPLICAS", "URL"),
        ((d.name, d.key, d.phase, f"{running(d)}/{d.num_replicas}", d.url) for d in found),
        empty="Nothing is deployed. Deploy a model with `roost deploy family/suffix/run_name`.",
    )


@app.command("show")
def show(key: KeyArgument, config: ConfigOption = None, as_json: JsonFlag = False) -> None:
    """Show one deployment."""
    wanted = find_key(key, read_config(config))
    deployment = current_client().run(control_calls.get_deployment(wanted))
    if as_json:
        print_json(deployment)
    else:
        print_deployment(deployment)


def print_deployment(deployment: Deployment) -> None:
    """All that is known of one deployment."""
    fields: dict[str, object] = {
        "name": deployment.name,
        "deployment": deployment.key,
        "phase": deployment.phase,
        "message": deployment.message,
        "url": deployment.url,
        "replicas": f"{running(deployment)} running of {deployment.num_replicas}",
        "scaling": _scaling(deployment),
        "rollout": deployment.rollout,
        "pause": _pause(deployment),
        "config": " ".join(f"{name}={value}" for name, value in deployment.config.items()),
        "capability": deployment.capability,
        "bundle": deployment.bundle_fingerprint,
    }
    if deployment.replaced_bundle_fingerprint:
        fields["replaces"] = deployment.replaced_bundle_fingerprint
    if deployment.failures:
        fields["failures"] = f"{deployment.failures} failed starts of this version"
    fields["last known use"] = _time(deployment.used_at)
    seen = _time(deployment.observed_at)
    fields["observed"] = f"{seen} (stale: Ray has been out of reach since)" if deployment.stale else seen
    for replica in deployment.replicas:
        where = replica.node_name or replica.node_ip or replica.node_id or "not placed yet"
        fields[f"replica {replica.replica_id}"] = f"{replica.state} on {where}"
    print_fields(fields)


def running(deployment: Deployment) -> int:
    """How many replicas run."""
    return sum(replica.state == "RUNNING" for replica in deployment.replicas)


def _scaling(deployment: Deployment) -> str:
    scale = deployment.autoscaling
    if scale is None:
        return "fixed"
    return (
        f"{scale.min_replicas} to {scale.max_replicas} by load, "
        f"{scale.target_ongoing_requests:g} ongoing requests each"
    )


def _pause(deployment: Deployment) -> str:
    rule = "never for others (pinned)" if deployment.pinned else "when others need room"
    if deployment.idle_timeout_s is None:
        return rule
    return f"{rule}, and after {deployment.idle_timeout_s:g} s without a request"


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S %Z}" if moment is not None else "never"
