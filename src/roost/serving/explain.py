"""Why a node has room for one more replica, or why not, in the order in which Ray tries the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roost.contracts.info import NodeInfo
from roost.contracts.placement import NodeFit
from roost.contracts.requirements import ModelRequirements
from roost.serving import cards
from roost.serving.feasible import lacking, node_needs, number
from roost.serving.room import could_fit, fits_now, free_of, resources_of, tier_of
from roost.serving.tiers import GIB, VRAM, card_mib, vram_mib


def explain_nodes(
    options: Mapping[str, Any], requirements: ModelRequirements, nodes: Iterable[NodeInfo]
) -> list[NodeFit]:
    """Each node beside what one replica with these options needs; first those that Ray tries first."""
    fits = [_fit(options, requirements, node) for node in nodes]
    return sorted(fits, key=lambda fit: (not fit.could_fit, fit.tier or 0, fit.name, fit.node_id))


def tiers_of(options: Mapping[str, Any]) -> list[int]:
    """The sizes of cards in MiB that these options select, in the order in which Ray tries them."""
    selected = [options, *(options.get("fallback_strategy") or ())]
    sizes = [card_mib(tier.get("label_selector") or {}) for tier in selected]
    return [size for size in sizes if size is not None]


def share_reason(options: Mapping[str, Any], requirements: ModelRequirements) -> str:
    """Why a replica books another share of a card than is required; the empty text when it does not."""
    booked, sizes = options.get("num_gpus", 0), tiers_of(options)
    if not sizes or booked == requirements.num_gpus:
        return ""
    size = min(sizes)
    filled = vram_mib(requirements)
    return (
        f"{number(booked)} GPU instead of {number(requirements.num_gpus)}: {filled} MiB are that share of a "
        f"card of {size} MiB, the smallest that holds them; so the models on one card never need more memory "
        "than it has."
    )


def _fit(options: Mapping[str, Any], requirements: ModelRequirements, node: NodeInfo) -> NodeFit:
    needed = resources_of(options)
    never = _never(options, requirements, node)
    fits = not never and fits_now(options, node)
    return NodeFit(
        node_id=node.node_id,
        name=node.name or node.ip or node.node_id,
        alive=node.alive,
        tier=None if never else tier_of(options, node),
        card_mib=card_mib(node.labels),
        fits=fits,
        could_fit=not never,
        reason=never or ("" if fits else _full(needed, node)),
        needed=needed,
        free={name: max(0.0, free_of(node, name)) if node.alive else 0.0 for name in needed},
        total={name: node.resources.get(name, 0.0) for name in needed},
    )


def _never(options: Mapping[str, Any], requirements: ModelRequirements, node: NodeInfo) -> str:
    """Why the node can never hold a replica, even empty; the empty text when it can."""
    if not node.alive:
        return "The node is dead."
    if requirements.vram_gb > 0 and card_mib(node.labels) is None:
        label = node.labels.get(VRAM)
        return f"Its label {VRAM}={label!r} is no number of MiB." if label else f"It has no label {VRAM}."
    lacks = lacking(node_needs(requirements, options["num_cpus"], node))
    if lacks:
        return f"Too small: it has {lacks}."
    if not could_fit(options, node):
        chosen = ", ".join(str(size) for size in tiers_of(options))
        return f"Cards of {card_mib(node.labels)} MiB were not there when it was deployed; it takes {chosen}."
    return ""


def _full(needed: Mapping[str, float], node: NodeInfo) -> str:
    short = [
        name for name, amount in needed.items() if cards.units(amount) > cards.units(free_of(node, name))
    ]
    if short:
        return "Full: " + ", ".join(f"{_amount(name, free_of(node, name))} free" for name in short) + "."
    gpus = needed[cards.GPU]
    return (
        f"Full: no card has {number(gpus)} GPUs free."
        if gpus < 1
        else "Full: its free GPUs are shares of cards."
    )


def _amount(name: str, value: float) -> str:
    value = max(0.0, value)
    if name == "memory":
        return f"{number(value / GIB)} GiB of memory"
    return f"{number(value)} {'MiB of GPU memory' if name == VRAM else name}"
