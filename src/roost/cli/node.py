"""`roost node` joins this machine to a cluster, in the foreground."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from roost.cli.output import JsonFlag, note, print_json, say
from roost.cli.up import require_server


def node(
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="The cluster's. [default: the embedded one of this home]"),
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="ROOST_RAY_TOKEN", help="The cluster's token, where it has one.")
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(help="Home of the cluster, and of what this node keeps. [default: ~/.roost]"),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the node. [default: the machine's]")] = None,
    num_cpus: Annotated[
        int | None, typer.Option(min=0, help="CPUs to offer. [default: the machine's]")
    ] = None,
    num_gpus: Annotated[int | None, typer.Option(min=0, help="GPUs to offer. [default: as measured]")] = None,
    fake_gpu: Annotated[
        list[str] | None,
        typer.Option(metavar="SIZE", help="Invent a card, for trials: 12GiB, 24GB. May be repeated."),
    ] = None,
    node_ip: Annotated[
        str | None, typer.Option(metavar="IP", help="Address at which the other nodes reach this machine.")
    ] = None,
    drain: Annotated[
        float, typer.Option(min=0, help="Longest time in seconds to move replicas away when it leaves.")
    ] = 60.0,
    timeout: Annotated[float, typer.Option(min=1, help="Longest time in seconds to join.")] = 120.0,
    as_json: JsonFlag = False,
) -> None:
    """Join this machine to a cluster with its cards until Ctrl-C; replicas are moved elsewhere first."""
    require_server()
    # Loaded by name: the server's libraries take a second that no other command should pay.
    flags = {} if home is None else {"home": home}
    settings = import_module("roost.settings").read_settings(flags)
    run = import_module("roost.engine.node.run")
    options = run.NodeOptions(
        home=settings.home_dir,
        address=address,
        token=token,
        name=name,
        num_cpus=num_cpus,
        num_gpus=num_gpus,
        fake_gpus=tuple(fake_gpu or ()),
        node_ip=node_ip,
        drain_s=drain,
        timeout_s=timeout,
    )
    run.run_node(options, note, print_json if as_json else _say_joined)


def _say_joined(joined: dict[str, Any]) -> None:
    say(
        f"Joined {joined['address']} as {joined['name']!r} ({joined['nodeIp']}), "
        f"advertising {joined['advertised']}. `roost status` lists it; Ctrl-C leaves."
    )
    sys.stdout.flush()
