"""`roost models`: the registry."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.arguments import ModelArgument
from roost.cli.bundle import bundle
from roost.cli.import_model import import_
from roost.cli.models_delete import delete
from roost.cli.models_save import save
from roost.cli.models_settings import set_config, set_requirements
from roost.cli.output import JsonFlag, note, print_fields, print_json, print_table
from roost.cli.sizes import bytes_text
from roost.cli.verify import verify
from roost.client import control_calls
from roost.contracts.model import ModelPhase, SavedModel
from roost.keys import ModelKey
from roost.sdk.connection import current_client
from roost.sdk.models import list_models

app = typer.Typer(help="The models in the registry.", invoke_without_command=True)
app.command("save")(save)
app.command("import")(import_)
app.command("delete")(delete)
app.command("set-requirements")(set_requirements)
app.command("set-config")(set_config)
app.command("verify")(verify)
app.command("bundle")(bundle)

FamilyOption = Annotated[str | None, typer.Option("--family", help="Only this family.")]
SuffixOption = Annotated[str | None, typer.Option("--suffix", help="Only this suffix.")]
RunOption = Annotated[str | None, typer.Option("--run", help="Only of this run.")]
PhaseOption = Annotated[ModelPhase | None, typer.Option("--phase", help="Only this phase.")]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many.")]
AfterOption = Annotated[
    str | None, typer.Option("--after", metavar="MODEL", help="Only what comes after this one.")
]


@app.callback()
def models(
    context: typer.Context,
    family: FamilyOption = None,
    suffix: SuffixOption = None,
    run: RunOption = None,
    phase: PhaseOption = None,
    limit: LimitOption = None,
    after: AfterOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The models in the registry; without a command, their list."""
    if context.invoked_subcommand is None:
        show_list(family, suffix, run, phase, limit, after, as_json)


@app.command("list")
def show_list(
    family: FamilyOption = None,
    suffix: SuffixOption = None,
    run: RunOption = None,
    phase: PhaseOption = None,
    limit: LimitOption = None,
    after: AfterOption = None,
    as_json: JsonFlag = False,
) -> None:
    """List the models."""
    found = list_models(
        family=family,
        suffix=suffix,
        run_name=run,
        phase=phase,
        limit=None if limit is None else limit + 1,
        after=ModelKey.parse(after) if after is not None else None,
    )
    shown = found[:limit]
    if as_json:
        print_json(shown)
    else:
        print_table(
            ("MODEL", "PHASE", "SIZE", "CAPABILITY", "CREATED"),
            ((m.key, m.phase, size(m), m.capability or "", f"{m.created_at:%Y-%m-%d %H:%M}") for m in shown),
            empty=_EMPTY if (family, suffix, run, phase, after) == (None,) * 5 else "No model matches.",
        )
    if len(found) > len(shown):
        note(f"There are more: --after {shown[-1].key}")


_EMPTY = "No models yet. Store one with `roost models save`, or roost.save_model."


@app.command("show")
def show(
    key: ModelArgument,
    as_json: JsonFlag = False,
) -> None:
    """Show one model."""
    model = current_client().run(control_calls.get_model(ModelKey.parse(key)))
    if as_json:
        print_json(model)
        return
    print_fields(
        {
            "model": model.key,
            "phase": model.phase,
            "message": model.message,
            "created": f"{model.created_at:%Y-%m-%d %H:%M:%S %Z}",
            "size": size(model),
            "class": model.class_path,
            "capability": model.capability,
            "needs": model.requirements,
            "config": " ".join(f"{name}={value}" for name, value in model.config.items()),
            "bundle": model.bundle_fingerprint,
            "weights": model.data_blob_path,
        }
    )


def size(model: SavedModel) -> str:
    """The size of the weights for people."""
    if not model.has_weights:
        return "no weights"
    return bytes_text(model.size_bytes)
