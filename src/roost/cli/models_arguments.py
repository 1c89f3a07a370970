"""What the commands that write models take, read the same way by each."""

from __future__ import annotations

from typing import Annotated

import typer

from roost.contracts.requirements import ModelRequirements
from roost.errors import InvalidName
from roost.keys import check_segment

NameArgument = Annotated[str, typer.Argument(metavar="FAMILY/SUFFIX", help="What the model is called.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="KEY=VALUE", help="One setting the class reads; may be repeated."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", help="A data file or folder, or a module, to ship beside the class; may be repeated."
    ),
]
NumGpusOption = Annotated[
    float | None, typer.Option("--num-gpus", help="GPUs a replica needs; a fraction below 1 shares a card.")
]
RamOption = Annotated[float | None, typer.Option("--ram-gb", help="Main memory a replica needs, in GiB.")]
VramOption = Annotated[float | None, typer.Option("--vram-gb", help="GPU memory a replica needs, in GiB.")]


def read_name(text: str) -> tuple[str, str]:
    """`family/suffix` as its two segments.

    Raises:
        InvalidName: for another shape or a bad segment.
    """
    family, slash, suffix = text.partition("/")
    if not slash or "/" in suffix:
        raise InvalidName(
            f"model name {text!r:.80} is not valid.", hint="Write it as family/suffix; the run is added."
        )
    return check_segment(family, "family"), check_segment(suffix, "suffix")


def read_requirements(
    num_gpus: float | None, ram_gb: float | None, vram_gb: float | None
) -> ModelRequirements | None:
    """What was given, the rest 0; None when nothing was.

    Raises:
        InvalidRequirements: for what makes no sense.
    """
    if num_gpus is None and ram_gb is None and vram_gb is None:
        return None
    return ModelRequirements(num_gpus=num_gpus or 0, ram_gb=ram_gb or 0, vram_gb=vram_gb or 0)
