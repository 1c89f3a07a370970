"""`roost models verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.arguments import complete_model
from roost.cli.output import JsonFlag, note, print_json, print_table, say
from roost.cli.sizes import bytes_text
from roost.client import control_calls
from roost.contracts.verification import Verification
from roost.keys import ModelKey
from roost.sdk.connection import current_client
from roost.sdk.models import list_models
from roost.sdk.verify import verify_saved


def verify(
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...", help="family/suffix/run_name; all when none.", autocompletion=complete_model
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read every stored byte of the models; exit code 1 when something is missing or altered."""
    client = current_client()
    wanted = [ModelKey.parse(key) for key in keys or ()]
    models = [client.run(control_calls.get_model(key)) for key in wanted] or list_models(phase="ready")
    results = [verify_saved(model) for model in models]
    if as_json:
        print_json(results)
    else:
        _print(results)
    if any(result.problems for result in results):
        raise typer.Exit(1)


def _print(results: list[Verification]) -> None:
    bad = [result for result in results if result.problems]
    print_table(
        ("MODEL", "FILE", "CHUNK", "PROBLEM"),
        (
            (result.model, problem.file, problem.chunk[:12], problem.what)
            for result in bad
            for problem in result.problems
        ),
        empty="Every stored byte is as it was saved." if results else "No models to verify.",
    )
    checked = sum(result.checked_bytes for result in results)
    models = "1 model" if len(results) == 1 else f"{len(results)} models"
    say(f"{models} verified, {bytes_text(checked)} read, {len(bad)} with problems.")
    if bad:
        note("Save what has problems again from its directory: only what is named is sent.")
