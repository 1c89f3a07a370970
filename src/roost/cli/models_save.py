"""`roost models save`."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.cli.arguments import read_config
from roost.cli.models_arguments import (
    IncludeOption,
    NameArgument,
    NumGpusOption,
    RamOption,
    SettingsOption,
    VramOption,
    read_name,
    read_requirements,
)
from roost.cli.output import JsonFlag
from roost.cli.servable import ServableArgument, load_servable
from roost.cli.storing import resumable, tell
from roost.sdk.model_changes import delete_model
from roost.sdk.models import save_model
from roost.sdk.runs import active_run_name


def save(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="The folder of the weights.")],
    servable: ServableArgument,
    name: NameArgument,
    config: SettingsOption = None,
    include: IncludeOption = None,
    num_gpus: NumGpusOption = None,
    ram_gb: RamOption = None,
    vram_gb: VramOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Store a copy of the weights and the class that serves them, under a new run's name; prints the key."""
    family, suffix = read_name(name)
    settings = read_config(config)
    requirements = read_requirements(num_gpus, ram_gb, vram_gb)
    cls = load_servable(servable)

    def give_up() -> None:
        # The next try saves under another run's name.
        delete_model(family, suffix, active_run_name())

    with resumable(give_up):
        saved = save_model(directory, cls, family, suffix, requirements, settings, include or ())
    tell(saved, as_json=as_json)
