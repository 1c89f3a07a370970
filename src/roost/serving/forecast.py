"""Where replicas would start that do not run yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roost.contracts.info import NodeInfo
from roost.contracts.placement import PlannedReplica
from roost.serving.feasible import label
from roost.serving.room import could_fit, fits_now, tier_of, with_replica


def place_replicas(
    options: Mapping[str, Any],
    count: int,
    nodes: Iterable[NodeInfo],
    freed: Mapping[str, Mapping[str, float]] | None = None,
) -> list[PlannedReplica]:
    """The next `count` replicas, one after the other: on the first node with room, the smallest cards first.

    Ray may choose another node of the same size.

    Args:
        freed: By node id, what is given back before they start.
    """
    given = freed or {}
    there = [node for node in nodes if could_fit(options, node)]
    there.sort(key=lambda node: (tier_of(options, node) or 0, label(node), node.node_id))
    waits_for = [label(node) for node in there]
    planned = []
    for _ in range(count):
        roomy = (i for i, node in enumerate(there) if fits_now(options, node, given.get(node.node_id, {})))
        index = next(roomy, None)
        if index is None:
            planned.append(PlannedReplica(waits_for=waits_for))
            continue
        planned.append(PlannedReplica(node_id=there[index].node_id, node_name=label(there[index])))
        there[index] = with_replica(there[index], options)
    return planned
