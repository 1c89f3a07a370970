"""`roost models`: the registry."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.output import JsonFlag, print_fields, print_json, print_table
from roost.client import control_calls
from roost.contracts.model import ModelPhase, SavedModel
from roost.keys import ModelKey
from roost.sdk.connection import current_client
from roost.sdk.models import list_models

app = typer.Typer(help="The models in the registry.", invoke_without_command=True)


@app.callback()
def models(
    context: typer.Context,
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    phase: Annotated[ModelPhase | None, typer.Option(help="Only this phase.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """The models in the registry; without a command, their list."""
    if context.invoked_subcommand is None:
        show_list(family, phase, as_json)


@app.command("list")
def show_list(
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    phase: Annotated[ModelPhase | None, typer.Option(help="Only this phase.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the models."""
    found = list_models(family=family, phase=phase)
    if as_json:
        print_json(found)
        return
    print_table(
        ("MODEL", "PHASE", "SIZE", "CAPABILITY", "CREATED"),
        ((m.key, m.phase, size(m), m.capability or "", f"{m.created_at:%Y-%m-%d %H:%M}") for m in found),
        empty="No models yet. Store one with roost.save_model or roost.import_model.",
    )


@app.command("show")
def show(
    key: Annotated[str, typer.Argument(metavar="MODEL", help="family/suffix/run_name.")],
    as_json: JsonFlag = False,
) -> None:
    """Show one model."""
    model = current_client().run(control_calls.get_model(ModelKey.parse(key)))
    if as_json:
        print_json(model)
        return
    needs = model.requirements
    print_fields(
        {
            "model": model.key,
            "phase": model.phase,
            "message": model.message,
            "created": f"{model.created_at:%Y-%m-%d %H:%M:%S %Z}",
            "size": size(model),
            "class": model.class_path,
            "capability": model.capability,
            "needs": f"{needs.num_gpus:g} GPU, {needs.vram_gb:g} GiB VRAM, {needs.ram_gb:g} GiB RAM",
            "config": " ".join(f"{name}={value}" for name, value in model.config.items()),
            "bundle": model.bundle_fingerprint,
            "weights": model.data_blob_path,
        }
    )


def size(model: SavedModel) -> str:
    """The size of the weights for people."""
    if not model.has_weights:
        return "no weights"
    amount = float(model.size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
