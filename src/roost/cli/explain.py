"""`roost explain`: where one more replica could run, and per node why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

import typer

from roost.cli.arguments import ConfigOption, find_key, read_config
from roost.cli.output import JsonFlag, print_fields, print_json, print_table
from roost.contracts.placement import NodeFit, PlacementExplanation
from roost.contracts.requirements import ModelRequirements
from roost.sdk.placement import explain_placement

_GIB = 1024**3


def explain(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY",
            help="A deployment's name or key, or a model's: family/suffix/run_name[@fingerprint].",
        ),
    ] = None,
    config: ConfigOption = None,
    gpus: Annotated[float | None, typer.Option(min=0, help="Instead of a key: GPUs of one replica.")] = None,
    vram_gb: Annotated[float | None, typer.Option(min=0, help="GPU memory of one replica in GiB.")] = None,
    ram_gb: Annotated[float | None, typer.Option(min=0, help="Main memory of one replica in GiB.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show where one more replica could run, and per node why not."""
    given = [number is not None for number in (gpus, vram_gb, ram_gb)]
    if (key is None) != any(given) or (key is None and config):
        raise typer.BadParameter("give either a KEY, or what is needed: --gpus, --vram-gb, --ram-gb.")
    if key is not None:
        explanation = explain_placement(find_key(key, read_config(config)))
    else:
        needs = ModelRequirements(num_gpus=gpus or 0, vram_gb=vram_gb or 0, ram_gb=ram_gb or 0)
        explanation = explain_placement(needs)
    if as_json:
        print_json(explanation)
    else:
        _print(explanation)


def amounts(values: Mapping[str, float]) -> str:
    """Resources for people: `0.1 CPU, 0.5 GPU, 8000 MiB VRAM, 4 GiB RAM`."""
    return ", ".join(_amount(name, value) for name, value in values.items())


def _print(explanation: PlacementExplanation) -> None:
    fields: dict[str, object] = {"needed": amounts(explanation.needed)}
    if explanation.key is not None:
        asked = "as it is deployed" if explanation.deployed else "as it would be deployed now"
        fields = {"of": f"{explanation.key}, {asked}", **fields}
    if explanation.gpu_share:
        fields["share"] = explanation.gpu_share
    if explanation.tiers:
        fields["cards"] = ", then ".join(f"{size} MiB" for size in explanation.tiers)
    fields["options"] = json.dumps(explanation.actor_options)
    print_fields(fields)
    print_table(
        ("NODE", "FITS", "CARD MIB", "FREE", "WHY NOT"),
        (
            (node.name, _fits(node), node.card_mib, amounts(node.free), node.reason)
            for node in explanation.nodes
        ),
        empty="The cluster has no nodes.",
    )


def _fits(node: NodeFit) -> str:
    return "now" if node.fits else "later" if node.could_fit else "never"


def _amount(name: str, value: float) -> str:
    if name == "memory":
        return f"{value / _GIB:.4g} GiB RAM"
    return f"{value:.0f} MiB VRAM" if name == "vram_mib" else f"{value:.4g} {name}"
