"""Whether any node can ever hold a replica; if not, what is missing and which node comes nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import Infeasible
from roost.serving.tiers import GIB, VRAM, card_mib, vram_mib, vram_mib_per_card


@dataclass(frozen=True, slots=True)
class Need:
    """One line of what a replica needs, and how much of it a node has in all.

    Attributes:
        what: The unit.
        one: The unit of a single one, where that is another word.
    """

    what: str
    needed: float
    total: float
    one: str = ""

    @property
    def fits(self) -> bool:
        """Whether an empty node could hold it."""
        return self.needed <= self.total

    def __str__(self) -> str:
        return f"{number(self.needed)} {(self.needed == 1 and self.one) or self.what}"


def could_hold(requirements: ModelRequirements, replica_cpus: float, node: NodeInfo) -> bool:
    """Whether the node is alive and could hold one replica were it empty."""
    return node.alive and all(need.fits for need in node_needs(requirements, replica_cpus, node))


def check_feasible(requirements: ModelRequirements, replica_cpus: float, nodes: Iterable[NodeInfo]) -> None:
    """Return when some node could hold one replica were it empty.

    Raises:
        Infeasible: naming what is needed, and for each need that no node meets the node that comes nearest;
            the context has all alive nodes, with what each lacks.
    """
    alive = [node for node in nodes if node.alive]
    if any(could_hold(requirements, replica_cpus, node) for node in alive):
        return
    if not alive:
        raise Infeasible(
            "no node of the cluster is alive.", hint="Run roost doctor, or join a node with roost node."
        )
    needs = {node.node_id: node_needs(requirements, replica_cpus, node) for node in alive}
    wanted = ", ".join(str(need) for need in needs[alive[0].node_id])
    raise Infeasible(
        f"one replica needs {wanted}: {_what_is_missing(alive, needs)}.",
        hint="Lower the model's requirements, or join a node that has it.",
        context={"nodes": {label(node): lacking(needs[node.node_id]) for node in alive}},
    )


def node_needs(requirements: ModelRequirements, replica_cpus: float, node: NodeInfo) -> list[Need]:
    """What one replica needs beside what `node` has in all; only what is needed at all."""
    total = node.resources
    needs = [Need("CPUs", replica_cpus, total.get("CPU", 0.0), "CPU")]
    if requirements.num_gpus > 0:
        needs.append(Need("GPUs", requirements.num_gpus, total.get("GPU", 0.0), "GPU"))
    if requirements.ram_gb > 0:
        needs.append(Need("GiB of memory", requirements.ram_gb, total.get("memory", 0.0) / GIB))
    if requirements.vram_gb > 0:
        cards = "one card" if requirements.num_gpus < 2 else f"each of {requirements.num_gpus:g} cards"
        per_card, in_all = vram_mib_per_card(requirements), vram_mib(requirements)
        needs.append(Need(f"MiB of GPU memory on {cards}", per_card, card_mib(node.labels) or 0))
        needs.append(Need(f"MiB of GPU memory in all (resource {VRAM})", in_all, total.get(VRAM, 0.0)))
    return needs


def lacking(needs: Iterable[Need]) -> str:
    """What an empty node would lack, for people: `2 CPUs of 3`; empty when it lacks nothing."""
    return ", ".join(f"{number(need.total)} of {need}" for need in needs if not need.fits)


def label(node: NodeInfo) -> str:
    """What people know a node by."""
    return node.name or node.ip or node.node_id


def number(value: float) -> str:
    """Four digits are enough to tell amounts apart."""
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def _what_is_missing(nodes: Sequence[NodeInfo], needs: Mapping[str, Sequence[Need]]) -> str:
    missing = []
    for row in range(len(needs[nodes[0].node_id])):
        largest = max(nodes, key=lambda node: needs[node.node_id][row].total)
        need = needs[largest.node_id][row]
        if not need.fits:
            missing.append(f"no node has {need}; largest {number(need.total)} ({label(largest)!r})")
    if missing:
        return "; ".join(missing)
    nearest = min(nodes, key=lambda node: _distance(needs[node.node_id]))
    return f"no node has all of it; nearest is {label(nearest)!r} with {lacking(needs[nearest.node_id])}"


def _distance(needs: Sequence[Need]) -> float:
    """How much is missing, each line as a share of what is needed."""
    return sum((need.needed - need.total) / need.needed for need in needs if not need.fits)
