"""What actors hold of each node's resources, through Ray's state API."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from roost.engine.dashboard import Dashboard
from roost.engine.state_api import list_state, rows_of

_HOLDING: Final = ("ALIVE", "PENDING_CREATION")


@dataclass(slots=True)
class NodeUsage:
    """Held on one node.

    Attributes:
        resources: Sums by Ray's names; memory in bytes.
        gpu_shares: GPUs of each actor that holds some, largest first.
    """

    resources: dict[str, float] = field(default_factory=dict)
    gpu_shares: list[float] = field(default_factory=list)


def node_usage(dashboard: Dashboard) -> dict[str, NodeUsage]:
    """By node id; nodes without actors are left out. Neither tasks nor placement groups are seen.

    Raises:
        EngineUnavailable: Ray does not answer, or refuses the token.
    """
    return usage_of(list_state(dashboard, "actors", state=("!=", "DEAD")))


def usage_of(answer: Mapping[str, Any]) -> dict[str, NodeUsage]:
    """Read the answer of `GET /api/v0/actors?detail=true`; a row that is odd hides no other."""
    usage: dict[str, NodeUsage] = defaultdict(NodeUsage)
    for row in rows_of(answer):
        if row.get("state") not in _HOLDING:
            continue
        node_id, held = row.get("node_id"), row.get("required_resources")
        if isinstance(node_id, str) and node_id and isinstance(held, Mapping):
            _add(usage[node_id], {str(name): amount for name, amount in held.items() if _is_amount(amount)})
    for node in usage.values():
        node.gpu_shares.sort(reverse=True)
    return dict(usage)


def _add(usage: NodeUsage, held: Mapping[str, float]) -> None:
    for name, amount in held.items():
        # Ray counts in 1/10000: sums of such fractions are kept free of the noise of floats.
        usage.resources[name] = round(usage.resources.get(name, 0.0) + amount, 4)
    if "GPU" in held:
        usage.gpu_shares.append(float(held["GPU"]))


def _is_amount(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0
