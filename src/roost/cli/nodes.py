"""The cluster's nodes and their cards, as `roost status` and `roost doctor` show them."""

from __future__ import annotations

from collections.abc import Sequence

from roost.cli.output import print_table
from roost.contracts.info import NodeInfo
from roost.serving.tiers import card_mib


def print_nodes(nodes: Sequence[NodeInfo]) -> None:
    """A line a node."""
    rows = [
        (node.name, node.ip, _count(node, "CPU"), _count(node, "GPU"), _one_card(node) or "-")
        for node in nodes
    ]
    print_table(("NODE", "ADDRESS", "CPU", "GPU", "ONE CARD"), rows, empty="")


def has_cards(node: NodeInfo) -> bool:
    """Whether Ray may give out GPUs there."""
    return node.resources.get("GPU", 0.0) > 0


def describe_cards(node: NodeInfo) -> str | None:
    """`2 GPU, 24576 MiB each`; None when the node does not say how large its cards are."""
    size = _one_card(node)
    return f"{_count(node, 'GPU')} GPU, {size} each" if size else None


def _one_card(node: NodeInfo) -> str:
    mib = card_mib(node.labels) if has_cards(node) else None
    return "" if mib is None else f"{mib} MiB"


def _count(node: NodeInfo, resource: str) -> str:
    return f"{node.resources.get(resource, 0.0):g}"
