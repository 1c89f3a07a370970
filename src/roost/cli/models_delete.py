"""`roost models delete`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from roost.cli.arguments import ModelArgument
from roost.cli.output import JsonFlag, note, print_json
from roost.client import control_calls
from roost.keys import ModelKey
from roost.sdk.connection import current_client


def delete(
    model: ModelArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete a model that no deployment uses; what it alone stored is collected later (`roost gc`)."""
    key = ModelKey.parse(model)
    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter(f"nobody can be asked here whether to delete {key}: give --yes.")
    client = current_client()
    found = client.run(control_calls.get_model(key))
    if not yes:
        typer.confirm(f"Delete {key}, which is {found.phase}?", abort=True, err=True)
    client.run(control_calls.delete_model(key))
    if as_json:
        print_json(found)
    else:
        note(f"{key} is deleted.")
