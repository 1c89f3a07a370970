"""Sizes of cards: which a replica can run on, and how much of one it must book.

Ray knows of a node's GPUs and of the sum of their memory, not of the memory of one. So replicas with a need
of GPU memory go to nodes by the size of their cards, the label `vram_mib`, and book at least the share of a
card that they fill. Then the shares on a card, which Ray keeps at 1 or below, bound its memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.serving.cards import UNITS, units

GIB: Final = 1024**3
VRAM: Final = "vram_mib"
"""Node label with the MiB of one card, and custom resource with the MiB of all of the node's cards."""

_CARD_MIB = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


def card_mib(labels: Mapping[str, str]) -> int | None:
    """MiB of one card of a node, by its label; None for a missing or malformed one."""
    text = labels.get(VRAM, "")
    return int(text) if _CARD_MIB.fullmatch(text) else None


def vram_mib(requirements: ModelRequirements) -> int:
    """GPU memory of one replica over all its cards, in whole MiB."""
    return math.ceil(requirements.vram_gb * 1024)


def vram_mib_per_card(requirements: ModelRequirements) -> int:
    """GPU memory of one replica on each card it uses, in whole MiB."""
    return math.ceil(vram_mib(requirements) / max(1, int(requirements.num_gpus)))


def sizes(nodes: Iterable[NodeInfo]) -> list[int]:
    """The sizes of these nodes' cards in MiB, smallest first; malformed labels are skipped."""
    return sorted({size for node in nodes if (size := card_mib(node.labels)) is not None})


def gpu_share(requirements: ModelRequirements, size_mib: int) -> float:
    """GPUs to book: as required, but never less of a card of `size_mib` than is filled.

    Ray rounds to 1/10000, so it is rounded up to that; but three models of a third of a card, or six of a
    sixth, are to share it: where rounding up would keep the last one out, it is less by under 1/10000.
    On larger cards it is more than is filled.
    """
    if requirements.num_gpus >= 1:
        return requirements.num_gpus
    needed = vram_mib(requirements)
    at_once = min(size_mib // needed, UNITS)
    filled = -(-needed * UNITS // size_mib) / UNITS
    if at_once * units(filled) > UNITS:
        filled = needed / size_mib
    if at_once * units(filled) > UNITS:
        filled = UNITS // at_once / UNITS
    return max(requirements.num_gpus, filled)


def selectors(tiers: Iterable[int]) -> dict[str, Any]:
    """Ray's options to run on the first of these sizes that has room."""
    chosen = [{VRAM: str(size)} for size in tiers]
    if not chosen:
        return {}
    options: dict[str, Any] = {"label_selector": chosen[0]}
    if len(chosen) > 1:
        options["fallback_strategy"] = [{"label_selector": labels} for labels in chosen[1:]]
    return options
