"""`roost import`."""

from __future__ import annotations

import warnings
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
from roost.cli.output import JsonFlag, note
from roost.cli.servable import ServableArgument, load_servable
from roost.cli.storing import resumable, tell
from roost.sdk.models import import_model

_SOURCE_HELP = "A folder, hf://org/name[@revision], s3://bucket/prefix, gs://…, az://… or file:///dir."


def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=_SOURCE_HELP)],
    servable: ServableArgument,
    name: NameArgument,
    config: SettingsOption = None,
    include: IncludeOption = None,
    num_gpus: NumGpusOption = None,
    ram_gb: RamOption = None,
    vram_gb: VramOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Store weights from elsewhere once, with the class that serves them; prints the key.

    A model that is stored already is not fetched again; only its code is refreshed.
    """
    family, suffix = read_name(name)
    settings = read_config(config) if config else None
    requirements = read_requirements(num_gpus, ram_gb, vram_gb)
    cls = load_servable(servable)
    with resumable(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        saved = import_model(source, cls, family, suffix, requirements, settings, include or ())
    for warning in warned:
        note(str(warning.message))
    tell(saved, as_json=as_json)
