"""`roost deploy`, `undeploy`, `deployments` and `logs`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.arguments import ConfigOption, KeyArgument, find_key, read_config
from roost.cli.output import JsonFlag, note, print_fields, print_json, print_table, say
from roost.client import control_calls
from roost.contracts.deployment import Deployment
from roost.keys import DeploymentKey, ModelKey
from roost.sdk.connection import current_client
from roost.sdk.deployments import deploy_model, list_deployed_models, wait_for_model_serving

app = typer.Typer(help="The deployments and how they stand.", invoke_without_command=True)


def deploy(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="family/suffix/run_name.")],
    config: ConfigOption = None,
    replicas: Annotated[int, typer.Option("--replicas", "-n", min=1, max=1000, help="How many copies.")] = 1,
    name: Annotated[str | None, typer.Option(help="The name callers use.")] = None,
    take_name: Annotated[bool, typer.Option(help="Take the name from another deployment.")] = False,
    wait: Annotated[bool, typer.Option(help="Return once it runs.")] = True,
    timeout: Annotated[float, typer.Option(min=0, help="Longest wait in seconds.")] = 300.0,
    as_json: JsonFlag = False,
) -> None:
    """Deploy a model."""
    key = ModelKey.parse(model)
    deployment = deploy_model(
        key.family,
        key.suffix,
        key.run_name,
        num_replicas=replicas,
        config=read_config(config),
        name=name,
        take_name=take_name,
    )
    if wait:
        deployment = _wait(deployment.key, timeout)
    if as_json:
        print_json(deployment)
    else:
        say(f"{deployment.name} is {deployment.phase} at {deployment.url}")


def _wait(key: DeploymentKey, timeout: float) -> Deployment:
    try:
        return wait_for_model_serving(key, timeout)
    except KeyboardInterrupt:
        note(f"The deployment goes on; see `roost status {key}`, or end it with `roost undeploy {key}`.")
        raise


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
    seen = f"{deployment.observed_at:%Y-%m-%d %H:%M:%S %Z}" if deployment.observed_at else "never"
    fields: dict[str, object] = {
        "name": deployment.name,
        "deployment": deployment.key,
        "phase": deployment.phase,
        "message": deployment.message,
        "url": deployment.url,
        "replicas": f"{running(deployment)} running of {deployment.num_replicas}",
        "config": " ".join(f"{name}={value}" for name, value in deployment.config.items()),
        "capability": deployment.capability,
        "bundle": deployment.bundle_fingerprint,
        "observed": f"{seen} (stale)" if deployment.stale else seen,
    }
    for replica in deployment.replicas:
        where = replica.node_name or replica.node_ip or replica.node_id or "not placed yet"
        fields[f"replica {replica.replica_id}"] = f"{replica.state} on {where}"
    print_fields(fields)


def running(deployment: Deployment) -> int:
    """How many replicas run."""
    return sum(replica.state == "RUNNING" for replica in deployment.replicas)
