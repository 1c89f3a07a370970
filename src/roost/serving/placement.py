"""Where replicas can run: what one asks of Ray, and whether any node can ever hold it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import Infeasible

GIB: Final = 1024**3
VRAM: Final = "vram_mib"
"""Node label with the MiB of one card, and custom resource with the MiB of all of the node's cards."""

_CARD_MIB = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Need:
    """One line of what a replica needs, and how much of it a node has in all."""

    what: str
    needed: float
    total: float

    @property
    def fits(self) -> bool:
        """Whether an empty node could hold it."""
        return self.needed <= self.total

    def __str__(self) -> str:
        return f"{_number(self.needed)} {self.what}"


def actor_options(
    requirements: ModelRequirements,
    replica_cpus: float,
    nodes: Iterable[NodeInfo] = (),  # noqa: ARG001
) -> dict[str, Any]:
    """Ray's actor options for one replica on these nodes. What is not needed is left out."""
    options: dict[str, Any] = {"num_cpus": replica_cpus}
    if requirements.num_gpus > 0:
        options["num_gpus"] = requirements.num_gpus
    if requirements.ram_gb > 0:
        options["memory"] = int(requirements.ram_gb * GIB)
    if requirements.vram_gb > 0:
        options["resources"] = {VRAM: vram_mib(requirements)}
    return options


def vram_mib(requirements: ModelRequirements) -> int:
    """GPU memory of one replica over all its cards, in whole MiB."""
    return math.ceil(requirements.vram_gb * 1024)


def check_feasible(requirements: ModelRequirements, replica_cpus: float, nodes: Iterable[NodeInfo]) -> None:
    """Return when some node could hold one replica were it empty.

    Raises:
        Infeasible: naming what is needed and the node that comes nearest.
    """
    alive = [node for node in nodes if node.alive]
    needs = {node.node_id: node_needs(requirements, replica_cpus, node) for node in alive}
    if any(all(need.fits for need in lines) for lines in needs.values()):
        return
    if not alive:
        raise Infeasible(
            "no node of the cluster is alive.", hint="Run roost doctor, or join a node with roost node."
        )
    nearest = min(alive, key=lambda node: _distance(needs[node.node_id]))
    lines = needs[nearest.node_id]
    short = ", ".join(f"{_number(need.total)} {need.what}" for need in lines if not need.fits)
    raise Infeasible(
        f"one replica needs {', '.join(str(need) for need in lines)}, which no node has: "
        f"{_label(nearest)!r} comes nearest with {short}.",
        hint="Lower the model's requirements, or join a node that has it.",
        context={"needs": {node.name: [str(need) for need in needs[node.node_id]] for node in alive}},
    )


def node_needs(requirements: ModelRequirements, replica_cpus: float, node: NodeInfo) -> list[Need]:
    """What one replica needs beside what `node` has in all; only what is needed at all."""
    total = node.resources
    needs = [Need("CPUs", replica_cpus, total.get("CPU", 0.0))]
    if requirements.num_gpus > 0:
        needs.append(Need("GPUs", requirements.num_gpus, total.get("GPU", 0.0)))
    if requirements.ram_gb > 0:
        needs.append(Need("GiB of memory", requirements.ram_gb, total.get("memory", 0.0) / GIB))
    if requirements.vram_gb > 0:
        cards = max(1.0, requirements.num_gpus)
        per_card = math.ceil(vram_mib(requirements) / cards)
        needs.append(Need("MiB of GPU memory on one card", per_card, card_mib(node.labels) or 0))
        needs.append(Need("MiB of GPU memory advertised", vram_mib(requirements), total.get(VRAM, 0.0)))
    return needs


def card_mib(labels: Mapping[str, str]) -> int | None:
    """MiB of one card of a node, by its label; None for a missing or malformed one."""
    text = labels.get(VRAM, "")
    return int(text) if _CARD_MIB.fullmatch(text) else None


def _distance(needs: Sequence[Need]) -> float:
    """How much is missing, each line as a share of what is needed."""
    return sum((need.needed - need.total) / need.needed for need in needs if not need.fits)


def _label(node: NodeInfo) -> str:
    return node.name or node.ip or node.node_id


def _number(value: float) -> str:
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"
