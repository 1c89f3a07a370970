"""From whatever is recorded and whatever Ray shows, a Ray that works ends where it is wanted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roost.serving.observed import ObservedApp, ObservedReplica
from roost.serving.scale import bounds, fixed
from roost.serving.state import State, Wanted
from roost.serving.transition import move

NOW = datetime(2026, 1, 1, tzinfo=UTC)
V1: dict[str, Any] = {
    "name": "a",
    "args": {"bundle": 1},
    "deployments": [{"name": "App", "autoscaling_config": fixed(1)}],
}
V2: dict[str, Any] = {**V1, "args": {"bundle": 2}}

REPLICAS = st.lists(
    st.builds(
        ObservedReplica,
        st.sampled_from(["r1", "r2"]),
        st.sampled_from(["STARTING", "RUNNING", "STOPPING", "NEW_STATE"]),
        outdated=st.booleans(),
    ),
    max_size=2,
).map(tuple)
STATES = st.builds(
    State,
    step=st.sampled_from(["apply", "clear"]),
    failures=st.integers(0, 4),
    retry_at=st.none() | st.integers(-20, 20).map(lambda s: NOW + timedelta(seconds=s)),
    restarts=st.integers(0, 2),
    phase=st.sampled_from(
        ["not_deployed", "not_started", "deploying", "running", "paused", "unhealthy", "deleting"]
    ),
    message=st.sampled_from(["", "why"]),
    ray_status=st.just("RUNNING"),
    replicas=REPLICAS,
    replaced_bundle_fingerprint=st.sampled_from(["", "b1"]),
    observed_generation=st.integers(0, 3),
    pause=st.sampled_from(["", "paused", "waking"]),
    in_place=st.booleans(),
)
STATUSES = st.sampled_from(["DEPLOYING", "RUNNING", "UNHEALTHY", "DEPLOY_FAILED", "NEW_STATUS"])
LISTED = st.builds(
    ObservedApp,
    status=STATUSES,
    config=st.sampled_from([V1, V2]),
    statuses=st.sampled_from([(), ("HEALTHY",), ("UPDATING",), ("DEPLOY_FAILED",)]),
    target=st.sampled_from([None, 0, 1, 2]),
    replicas=REPLICAS,
)
APPS = st.none() | st.just(ObservedApp("DELETING")) | LISTED


def working_ray(app: ObservedApp | None, application: dict[str, Any] | None) -> ObservedApp | None:
    """What a Ray that works shows a while after the set was PUT, with or without this application."""
    if application is None:
        return ObservedApp("DELETING") if app is not None and app.config is not None else None
    fresh = ObservedReplica("fresh", "RUNNING")
    if app is None or app.config != application:
        return ObservedApp("DEPLOYING", config=application)
    if app.status == "DEPLOY_FAILED" or "DEPLOY_FAILED" in app.statuses:
        return app  # an identical PUT does not make Ray try again
    if bounds(application) == (0, 1):
        return ObservedApp("RUNNING", "", application, ("HEALTHY",), 0)
    return ObservedApp("RUNNING", "", application, ("HEALTHY",), 1, (fresh,))


@given(STATES, APPS, st.booleans(), st.sampled_from([V1, V2]))
def test_it_ends_where_it_is_wanted(
    state: State, app: ObservedApp | None, present: bool, application: dict[str, Any]
) -> None:
    wanted = Wanted("f/s/r", "a", 4, present, application)
    now = NOW
    for _ in range(12):
        moved = move(wanted, state, app, app.config if app else None, now)
        state, app = moved.state, working_ray(app, moved.application)
        now += timedelta(seconds=10)
    assert move(wanted, state, app, app.config if app else None, now) == moved
    if not present:
        assert (state.phase, app) == ("not_deployed", None)
    elif state.phase == "failed":
        assert state.message
    else:
        assert state.failures == 0
        if state.pause == "paused":
            assert state.phase == "paused"  # and why it was paused stays
        else:
            assert (state.phase, state.message) == ("running", "")
        assert state.pause in ("", "paused")
        assert not state.in_place
        assert state.replaced_bundle_fingerprint == ""
        assert state.observed_generation == 4


@given(STATES, LISTED, st.sampled_from([V1, V2]))
def test_what_serves_is_never_left_out(state: State, app: ObservedApp, application: dict[str, Any]) -> None:
    serving = replace(app, replicas=(*app.replicas, ObservedReplica("serves", "RUNNING")))
    wanted = Wanted("f/s/r", "a", 4, True, application)
    moved = move(wanted, replace(state, step="apply"), serving, serving.config, NOW)
    assert moved.application is not None


@given(STATES, APPS, st.sampled_from([V1, V2]))
def test_an_older_version_never_counts_as_seen(
    state: State, app: ObservedApp | None, application: dict[str, Any]
) -> None:
    state = replace(state, observed_generation=3)
    wanted = Wanted("f/s/r", "a", 4, True, application)
    moved = move(wanted, state, app, app.config if app else None, NOW)
    if moved.state.observed_generation == 4:
        assert app is not None
        assert app.config == {
            **application,
            "args": application["args"] | ({"restarts": state.restarts} if state.restarts else {}),
        }
