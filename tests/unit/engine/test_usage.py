"""What actors hold, from what Ray answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.engine.usage import NodeUsage, usage_of
from roost.testing.fake_serve import actor_row


def answer(*rows: Any) -> dict[str, Any]:
    return {"result": True, "msg": "", "data": {"result": {"total": len(rows), "result": list(rows)}}}


def test_actors_are_summed_by_node() -> None:
    rows = [
        actor_row("n1", CPU=0.1, GPU=0.25, vram_mib=8000),
        actor_row("n1", state="PENDING_CREATION", CPU=0.2, GPU=1.0, memory=1024.0),
        actor_row("n2", CPU=1.0),
    ]
    assert usage_of(answer(*rows)) == {
        "n1": NodeUsage({"CPU": 0.3, "GPU": 1.25, "vram_mib": 8000, "memory": 1024.0}, [1.0, 0.25]),
        "n2": NodeUsage({"CPU": 1.0}, []),
    }


@pytest.mark.parametrize(
    "row",
    [
        actor_row("n1", state="DEAD", CPU=1.0),
        actor_row("n1", state="DEPENDENCIES_UNREADY", CPU=1.0),
        actor_row("n1", state="RESTARTING", CPU=1.0),
        actor_row("", state="PENDING_CREATION", CPU=1.0),
        {"state": "ALIVE", "node_id": None, "required_resources": {"CPU": 1.0}},
        {"state": "ALIVE", "node_id": "n1", "required_resources": None},
        {"state": "ALIVE", "node_id": "n1"},
        {"state": ["ALIVE"], "node_id": "n1", "required_resources": {"CPU": 1.0}},
        "row",
        None,
    ],
)
def test_rows_that_hold_nothing_hide_no_other(row: Any) -> None:
    assert usage_of(answer(row, actor_row("n2", CPU=0.5))) == {"n2": NodeUsage({"CPU": 0.5}, [])}


@pytest.mark.parametrize("amount", ["1", True, None, -1.0, 0.0, float("nan"), float("inf")])
def test_odd_amounts_are_left_out(amount: Any) -> None:
    row = {"state": "ALIVE", "node_id": "n1", "required_resources": {"GPU": amount, "CPU": 0.1}}
    assert usage_of(answer(row)) == {"n1": NodeUsage({"CPU": 0.1}, [])}


@pytest.mark.parametrize(
    "odd", [{}, {"data": None}, {"data": {"result": []}}, {"data": {"result": {"result": 1}}}]
)
def test_another_answer_is_no_usage(odd: dict[str, Any]) -> None:
    assert usage_of(odd) == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
odd_rows = st.fixed_dictionaries(
    {},
    optional={
        "state": st.just("ALIVE") | json_values,
        "node_id": st.just("n1") | json_values,
        "required_resources": json_values,
    },
)


@given(st.lists(odd_rows | json_values, max_size=5))
def test_whatever_ray_says_is_read(rows: list[Any]) -> None:
    for usage in usage_of(answer(*rows)).values():
        assert all(amount > 0 for amount in usage.resources.values())
