"""Ray's state API: its lists of nodes and actors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from roost.engine.dashboard import Dashboard

_LIMIT = "10000"


def list_state(
    dashboard: Dashboard, kind: Literal["actors", "nodes"], *, state: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The answer of `GET /api/v0/{kind}` with all details; `rows_of` reads it.

    Args:
        state: Only rows whose state is (`=`) or is not (`!=`) a name: predicate and name.

    Raises:
        EngineUnavailable: Ray does not answer, or refuses the token.
    """
    params = {"limit": _LIMIT, "detail": "true"}
    if state is not None:
        predicate, name = state
        params |= {"filter_keys": "state", "filter_predicates": predicate, "filter_values": name}
    return dashboard.get_json(f"/api/v0/{kind}", params)


def rows_of(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of an answer; what is odd in it hides no other row."""
    rows: Any = answer
    for part in ("data", "result", "result"):
        rows = rows.get(part) if isinstance(rows, Mapping) else None
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
