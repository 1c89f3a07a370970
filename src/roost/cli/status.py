"""`roost status`: the server, the engine, or one deployment."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.arguments import ConfigOption, find_key, read_config
from roost.cli.deployments import print_deployment
from roost.cli.nodes import has_cards, print_nodes
from roost.cli.output import JsonFlag, print_fields, print_json, say
from roost.client import control_calls
from roost.contracts.info import ServerInfo
from roost.sdk.connection import current_client


def status(
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="One deployment.")] = None,
    config: ConfigOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show how the server and Ray stand, or one deployment."""
    if key is not None:
        wanted = find_key(key, read_config(config))
        deployment = current_client().run(control_calls.get_deployment(wanted))
        if as_json:
            print_json(deployment)
        else:
            print_deployment(deployment)
        return
    info = current_client().run(control_calls.info())
    if as_json:
        print_json(info)
    else:
        print_server(info)


def print_server(info: ServerInfo) -> None:
    """All that the server says of itself."""
    engine = info.engine
    alive = [node for node in engine.nodes if node.alive]
    cpus = sum(node.resources.get("CPU", 0) for node in alive)
    gpus = sum(node.resources.get("GPU", 0) for node in alive)
    kind = "embedded" if engine.embedded else "existing cluster"
    print_fields(
        {
            "server": f"{info.url} (version {info.version}, pid {info.pid})",
            "leader": "this server" if info.leader == info.name else info.leader or "none at the moment",
            "home": info.home,
            "records": info.database,
            "storage": info.storage.url,
            "ray": f"{engine.state} ({kind}) {engine.message}".rstrip(),
            "dashboard": engine.dashboard_url,
            "serve": engine.serve_url,
            "nodes": f"{len(alive)} ({cpus:g} CPU, {gpus:g} GPU)",
            "models": info.models,
            "deployments": info.deployments,
        }
    )
    if len(alive) > 1 or any(has_cards(node) for node in alive):
        say("")
        print_nodes(alive)
