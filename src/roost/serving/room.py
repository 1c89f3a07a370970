"""Whether a node has room for one replica, as Ray decides it: by labels, sums and cards."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from roost.contracts.info import NodeInfo
from roost.serving import cards
from roost.serving.cards import units

_NAMES: Final = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
_NOTHING: Final[Mapping[str, float]] = MappingProxyType({})


def resources_of(options: Mapping[str, Any]) -> dict[str, float]:
    """What one replica with these actor options holds, by Ray's names; memory in bytes."""
    named = {name: float(options[option]) for option, name in _NAMES.items() if options.get(option)}
    custom = {str(name): float(amount) for name, amount in (options.get("resources") or {}).items()}
    return named | custom


def could_fit(options: Mapping[str, Any], node: NodeInfo) -> bool:
    """Whether Ray could ever put a replica there: on a living node, with the labels, were it empty."""
    return (
        node.alive
        and tier_of(options, node) is not None
        and all(
            units(amount) <= units(node.resources.get(name, 0.0))
            for name, amount in resources_of(options).items()
        )
    )


def fits_now(options: Mapping[str, Any], node: NodeInfo, freed: Mapping[str, float] = _NOTHING) -> bool:
    """Whether Ray would put a replica there now, were `freed` given back by actors of the node.

    Sums are exact as far as `node.used` is. Of cards see `cards.has_room`.
    """
    needed = resources_of(options)
    return (
        could_fit(options, node)
        and all(
            units(amount) <= units(free_of(node, name) + freed.get(name, 0.0))
            for name, amount in needed.items()
        )
        and cards.has_room(node, needed.get(cards.GPU, 0.0), freed.get(cards.GPU, 0.0))
    )


def free_of(node: NodeInfo, name: str) -> float:
    """How much of a resource no actor holds."""
    return node.resources.get(name, 0.0) - node.used.get(name, 0.0)


def tier_of(options: Mapping[str, Any], node: NodeInfo) -> int | None:
    """Which of the selectors, in the order in which Ray tries them, the node meets; None for none."""
    tiers = [options, *(options.get("fallback_strategy") or ())]
    for index, tier in enumerate(tiers):
        wanted = tier.get("label_selector") or {}
        if all(node.labels.get(name) == value for name, value in wanted.items()):
            return index
    return None


def with_replica(node: NodeInfo, options: Mapping[str, Any]) -> NodeInfo:
    """The node as it is once it holds one more replica."""
    needed = resources_of(options)
    used = {**node.used, **{name: node.used.get(name, 0.0) + amount for name, amount in needed.items()}}
    gpus = needed.get(cards.GPU)
    shares = [*node.used_gpu_shares, *([gpus] if gpus else [])]
    return node.model_copy(update={"used": used, "used_gpu_shares": shares})
