"""`roost models set-requirements` and `set-config`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.arguments import ModelArgument, read_config
from roost.cli.models_arguments import NumGpusOption, RamOption, VramOption, read_requirements
from roost.cli.output import JsonFlag, print_json, say
from roost.contracts.model import SavedModel
from roost.keys import ModelKey
from roost.sdk.model_changes import set_model_config, set_model_requirements


def set_requirements(
    model: ModelArgument,
    num_gpus: NumGpusOption = None,
    ram_gb: RamOption = None,
    vram_gb: VramOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Replace a model's requirements, from its next deploy on; what is left out is 0."""
    key = ModelKey.parse(model)
    requirements = read_requirements(num_gpus, ram_gb, vram_gb)
    if requirements is None:
        raise typer.BadParameter("what does it need? Give --num-gpus, --ram-gb or --vram-gb, be it 0.")
    saved = set_model_requirements(key.family, key.suffix, key.run_name, requirements)
    _show(saved, f"needs {saved.requirements}", as_json=as_json)


def set_config(
    model: ModelArgument,
    settings: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE...")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Set nothing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Replace a model's whole config, from its next deploy on."""
    key = ModelKey.parse(model)
    if clear and settings:
        raise typer.BadParameter("--clear and KEY=VALUE exclude each other: give one of the two.")
    if not clear and not settings:
        raise typer.BadParameter("give the whole new config as KEY=VALUE..., or --clear for none.")
    saved = set_model_config(key.family, key.suffix, key.run_name, read_config(settings))
    pairs = " ".join(f"{name}={value}" for name, value in saved.config.items())
    _show(saved, f"is configured with {pairs or 'nothing'}", as_json=as_json)


def _show(saved: SavedModel, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(saved)
    else:
        say(f"{saved.key} {what}, from its next deploy on.")
