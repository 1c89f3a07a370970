"""Which replicas Ray has not placed, by its state API."""

from __future__ import annotations

from typing import Any

import pytest

from roost.engine.pending import unplaced_of


def row(name: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": "PENDING_CREATION", "node_id": None, **more}


def answer(*rows: Any) -> dict[str, Any]:
    return {"result": True, "data": {"result": {"total": len(rows), "result": list(rows)}}}


def test_those_without_a_node() -> None:
    waits = row("SERVE_REPLICA::f__s__r#App#abcd1234")
    starts = row("SERVE_REPLICA::f__s__r#App#efgh5678", node_id="f" * 56)
    assert unplaced_of(answer(waits, starts)) == {"abcd1234"}


def test_other_actors_and_odd_rows_hide_nothing() -> None:
    waits = row("SERVE_REPLICA::f__s__r#App#abcd1234")
    rows = [None, 3, row(None), row("SERVE_CONTROLLER_ACTOR"), row("x#App#y"), {}, waits]
    assert unplaced_of(answer(*rows)) == {"abcd1234"}


@pytest.mark.parametrize("odd", [{}, {"data": None}, {"data": {"result": {"result": None}}}, {"data": []}])
def test_an_odd_answer_names_none(odd: dict[str, Any]) -> None:
    assert unplaced_of(odd) == set()
