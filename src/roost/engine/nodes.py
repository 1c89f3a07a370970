"""The nodes of a Ray cluster, through its state API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roost.contracts.info import NodeInfo
from roost.engine.dashboard import Dashboard
from roost.engine.state_api import list_state, rows_of
from roost.engine.usage import NodeUsage, node_usage


def list_nodes(dashboard: Dashboard) -> list[NodeInfo]:
    """All nodes Ray remembers, dead ones too (`alive` is False), with what actors hold of them.

    Ordered by name, then id.

    Raises:
        EngineUnavailable: Ray does not answer, or refuses the token.
    """
    rows = rows_of(list_state(dashboard, "nodes"))
    usage = node_usage(dashboard) if rows else {}
    nodes = [_node(row, usage.get(str(row.get("node_id", "")), NodeUsage())) for row in rows]
    return sorted(nodes, key=lambda node: (node.name, node.node_id))


def _node(row: Mapping[str, Any], usage: NodeUsage) -> NodeInfo:
    resources = row.get("resources_total") or {}
    return NodeInfo(
        node_id=str(row.get("node_id", "")),
        name=str(row.get("node_name") or row.get("node_ip") or ""),
        ip=str(row.get("node_ip") or ""),
        alive=row.get("state") == "ALIVE",
        labels={str(name): str(value) for name, value in (row.get("labels") or {}).items()},
        resources={str(name): float(value) for name, value in resources.items()},
        used=usage.resources,
        used_gpu_shares=usage.gpu_shares,
    )
