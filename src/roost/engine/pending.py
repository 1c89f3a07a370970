"""Replicas without a node: of those that Serve shows as starting, some are only just coming up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from roost.engine.dashboard import Dashboard

_PREFIX: Final = "SERVE_REPLICA::"


def unplaced_replicas(dashboard: Dashboard) -> set[str]:
    """Ids of Serve's replicas for which Ray has not found a node.

    Raises:
        EngineUnavailable: Ray does not answer, or refuses the token.
    """
    params = {
        "limit": "10000",
        "detail": "true",
        "filter_keys": "state",
        "filter_predicates": "=",
        "filter_values": "PENDING_CREATION",
    }
    return unplaced_of(dashboard.get_json("/api/v0/actors", params))


def unplaced_of(answer: Mapping[str, Any]) -> set[str]:
    """Read the answer of `GET /api/v0/actors?detail=true`; a row that is odd hides no other."""
    rows: Any = answer
    for part in ("data", "result", "result"):
        rows = rows.get(part) if isinstance(rows, Mapping) else None
    named = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return {
        name.rpartition("#")[2]
        for row in named
        if isinstance(name := row.get("name"), str) and name.startswith(_PREFIX) and not row.get("node_id")
    }
