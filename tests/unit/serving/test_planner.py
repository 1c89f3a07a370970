"""Planning cycle after cycle comes to the same as planning each from nothing."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roost.serving.observed import parse_serve
from roost.serving.plan import Echoes, plan
from roost.serving.planner import Planner
from roost.serving.scale import fixed
from roost.serving.state import State, Wanted

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEW = State("apply", 0, None, 0, "not_started", "", "NOT_STARTED", (), "", 0)


def application(bundle: int) -> dict[str, Any]:
    return {
        "name": "a",
        "args": {"bundle": bundle},
        "deployments": [{"name": "App", "autoscaling_config": fixed(1)}],
    }


def shown(status: str, bundle: int, replica: str | None) -> dict[str, Any]:
    replicas = [{"replica_id": "r1", "state": replica}] if replica else []
    part = {"status": "HEALTHY", "message": "", "target_num_replicas": 1, "replicas": replicas}
    return {
        "status": status,
        "message": "",
        "deployed_app_config": application(bundle),
        "deployments": {"App": part},
    }


RUNNING = shown("RUNNING", 1, "RUNNING")
RESTED = Wanted("f/s/a", "a", 1, True, application(1))
LOOKS = st.sampled_from(
    [
        None,
        RUNNING,
        shown("RUNNING", 2, "RUNNING"),
        shown("DEPLOYING", 1, "STARTING"),
        shown("DEPLOY_FAILED", 1, None),
        shown("DEPLOY_FAILED", 1, "RUNNING"),
        {"status": "DELETING"},
    ]
)
WISHES = st.sampled_from(
    [RESTED, replace(RESTED, present=False), replace(RESTED, application=application(2))]
)


@given(st.lists(st.tuples(LOOKS, WISHES, st.sampled_from([0.0, 0.2, 5.0])), max_size=20))
def test_each_cycle_is_as_if_it_were_the_first(cycles: list[tuple[Any, Wanted, float]]) -> None:
    planner, echoes, now, state = Planner(), Echoes(), NOW, NEW
    for look, wanted, pause_s in cycles:
        now += timedelta(seconds=pause_s)
        details = {"applications": {"a": look} if look else {}}
        planned = planner.plan([(wanted, state)], details, now, echoes.find_config)
        afresh = plan([(wanted, state)], parse_serve(copy.deepcopy(details)), now)
        assert planned == afresh
        state = planned.states["f/s/a"]


def test_what_rests_stays_the_same_object() -> None:
    planner, echoes, state = Planner(), Echoes(), NEW
    for second in range(3):
        planned = planner.plan(
            [(RESTED, state)],
            {"applications": {"a": RUNNING}},
            NOW + timedelta(seconds=second),
            echoes.find_config,
        )
        before, state = state, planned.states["f/s/a"]
    assert state.phase == "running"
    assert state is before


def test_a_pause_before_the_next_start_ends_though_nothing_else_changes() -> None:
    planner, echoes = Planner(), Echoes()
    state = replace(NEW, step="clear", phase="deploying", failures=1, retry_at=NOW + timedelta(seconds=2))
    steps = []
    for second in range(4):
        planned = planner.plan(
            [(RESTED, state)], {"applications": {}}, NOW + timedelta(seconds=second), echoes.find_config
        )
        state = planned.states["f/s/a"]
        steps.append(state.step)
    assert steps == ["clear", "clear", "apply", "apply"]


def test_a_record_that_is_gone_and_comes_back_is_planned_again() -> None:
    planner, echoes = Planner(), Echoes()
    details = {"applications": {"a": RUNNING}}
    planner.plan([(RESTED, NEW)], details, NOW, echoes.find_config)
    assert planner.plan([], details, NOW, echoes.find_config).passed == {"a": application(1)}
    planned = planner.plan([(RESTED, NEW)], details, NOW, echoes.find_config)
    assert (planned.passed, planned.states["f/s/a"].phase) == ({}, "running")
