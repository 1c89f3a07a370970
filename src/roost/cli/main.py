"""The `roost` command. Exit codes: 0, 1 (it failed), 2 (usage)."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

import roost
from roost.cli import deployments, models
from roost.cli.deploy import deploy
from roost.cli.doctor import doctor
from roost.cli.events import events
from roost.cli.explain import explain
from roost.cli.gc import gc
from roost.cli.import_model import import_
from roost.cli.node import node
from roost.cli.output import print_error, say
from roost.cli.status import status
from roost.cli.up import down, up
from roost.cli.usage import NamingGroup
from roost.errors import InvalidConfig, InvalidName, InvalidRequirements, RoostError

app = typer.Typer(
    cls=NamingGroup,
    help="Keeps machine-learning models and serves them on Ray.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"roost {roost.__version__}")
        raise typer.Exit


@app.callback()
def main(
    _version_flag: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keeps machine-learning models and serves them on Ray."""


for _command in (up, down, node, status, deploy, deployments.undeploy, deployments.logs, doctor):
    app.command()(_command)
app.command()(events)
app.command()(explain)
app.command()(gc)
app.command("import")(import_)
app.add_typer(models.app, name="models")
app.add_typer(deployments.app, name="deployments")


def run() -> None:
    """Entry point: every `RoostError` becomes a text with the next step and exit code 1."""
    try:
        app()
    except RoostError as error:
        print_error(error, as_json="--json" in sys.argv)
        # What was typed wrong is a usage error, unless it was the server that said so.
        typed = (InvalidName, InvalidConfig, InvalidRequirements)
        typed_wrong = isinstance(error, typed) and error.request_id is None
        sys.exit(2 if typed_wrong else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has gone (`roost ... | head`): nothing is left to say, nor to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
