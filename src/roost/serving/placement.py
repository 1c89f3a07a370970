"""Where replicas can run: what one asks of Ray, and whether a node can hold it, ever or now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.serving.feasible import could_hold
from roost.serving.room import could_fit, fits_now, resources_of
from roost.serving.tiers import GIB, VRAM, gpu_share, selectors, sizes, vram_mib

__all__ = ["actor_options", "could_fit", "fits_now", "resources_of"]


def actor_options(
    requirements: ModelRequirements, replica_cpus: float, nodes: Iterable[NodeInfo] = ()
) -> dict[str, Any]:
    """Ray's actor options for one replica on these nodes. What is not needed is left out.

    A need of GPU memory selects the sizes of cards of the nodes that could ever hold a replica, smallest
    first, and books the share of the smallest that it fills. Without such a node it only has the custom
    resource: Ray then minds the sum over a node's cards, not each card.
    """
    options: dict[str, Any] = {"num_cpus": replica_cpus}
    if requirements.num_gpus > 0:
        options["num_gpus"] = requirements.num_gpus
    if requirements.ram_gb > 0:
        options["memory"] = int(requirements.ram_gb * GIB)
    if requirements.vram_gb > 0:
        options["resources"] = {VRAM: vram_mib(requirements)}
        tiers = sizes(node for node in nodes if could_hold(requirements, replica_cpus, node))
        if tiers:
            options["num_gpus"] = gpu_share(requirements, tiers[0])
            options |= selectors(tiers)
    return options


def is_placed(options: dict[str, Any]) -> bool:
    """Whether the sizes of cards were known when these options were made, or do not matter."""
    return VRAM not in options.get("resources", {}) or "label_selector" in options
