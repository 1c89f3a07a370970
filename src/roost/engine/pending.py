"""Replicas without a node: of those that Serve shows as starting, some are only just coming up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from roost.engine.dashboard import Dashboard
from roost.engine.state_api import list_state, rows_of

_PREFIX: Final = "SERVE_REPLICA::"


def unplaced_replicas(dashboard: Dashboard) -> set[str]:
    """Ids of Serve's replicas for which Ray has not found a node.

    Raises:
        EngineUnavailable: Ray does not answer, or refuses the token.
    """
    return unplaced_of(list_state(dashboard, "actors", state=("=", "PENDING_CREATION")))


def unplaced_of(answer: Mapping[str, Any]) -> set[str]:
    """Read the answer of `GET /api/v0/actors?detail=true`; a row that is odd hides no other."""
    return {
        name.rpartition("#")[2]
        for row in rows_of(answer)
        if isinstance(name := row.get("name"), str) and name.startswith(_PREFIX) and not row.get("node_id")
    }
