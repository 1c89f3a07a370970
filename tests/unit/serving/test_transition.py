"""One deployment's next step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from roost.contracts.autoscaling import Autoscaling
from roost.serving.observed import ObservedApp, ObservedReplica
from roost.serving.scale import asleep, by_load, fixed
from roost.serving.state import State, Wanted, paused
from roost.serving.transition import IN_PLACE, WOKEN, Moved, move

NOW = datetime(2026, 1, 1, tzinfo=UTC)
V1: dict[str, Any] = {
    "name": "a",
    "args": {"bundle": 1},
    "deployments": [{"name": "App", "autoscaling_config": fixed(1)}],
}
V2: dict[str, Any] = {**V1, "args": {"bundle": 2}}
V1_TWICE: dict[str, Any] = {**V1, "deployments": [{"name": "App", "autoscaling_config": fixed(2)}]}

OLD = ObservedReplica("old", "RUNNING")
NEW = ObservedReplica("new", "RUNNING")
OUTDATED = replace(OLD, outdated=True)

RECORDED = State(
    step="apply",
    failures=0,
    retry_at=None,
    restarts=0,
    phase="not_started",
    message="",
    ray_status="NOT_STARTED",
    replicas=(),
    replaced_bundle_fingerprint="",
    observed_generation=0,
)
RUNS = replace(RECORDED, phase="running", ray_status="RUNNING", replicas=(OLD,), observed_generation=1)


def want(application: dict[str, Any] = V1, *, generation: int = 1, present: bool = True) -> Wanted:
    return Wanted(
        key="f/s/r",
        app_name="a",
        generation=generation,
        present=present,
        application=application,
    )


def seen(
    status: str,
    config: dict[str, Any] | None,
    *replicas: ObservedReplica,
    deployment: str = "",
    target: int | None = 1,
    message: str = "",
) -> ObservedApp:
    return ObservedApp(
        status=status,
        message=message,
        config=config,
        statuses=(deployment,) if deployment else (),
        target=target if deployment else None,
        replicas=replicas,
    )


def step(wanted: Wanted, state: State, app: ObservedApp | None, now: datetime = NOW) -> Moved:
    return move(wanted, state, app, app.config if app else None, now)


class TestFirstDeploy:
    def test_recorded_and_unknown_to_ray(self) -> None:
        assert step(want(), RECORDED, None) == Moved(RECORDED, V1)

    def test_ray_builds_it(self) -> None:
        moved = step(want(), RECORDED, seen("DEPLOYING", V1))
        assert moved.application == V1
        assert moved.state == replace(
            RECORDED, phase="deploying", ray_status="DEPLOYING", observed_generation=1
        )

    def test_it_waits_for_room(self) -> None:
        starting = ObservedReplica("r", "STARTING")
        app = seen("DEPLOYING", V1, starting, deployment="UPDATING", message="waits for 1 GPU")
        state = step(want(), RECORDED, app).state
        assert (state.phase, state.message, state.replicas) == ("deploying", "waits for 1 GPU", (starting,))

    def test_it_runs(self) -> None:
        state = step(want(), RECORDED, seen("RUNNING", V1, OLD, deployment="HEALTHY")).state
        assert state == RUNS

    def test_nothing_changes_after_that(self) -> None:
        app = seen("RUNNING", V1, OLD, deployment="HEALTHY")
        assert step(want(), RUNS, app) == Moved(RUNS, V1)

    def test_its_only_replica_died(self) -> None:
        state = step(want(), RUNS, seen("RUNNING", V1, deployment="HEALTHY")).state
        assert state.phase == "deploying"

    @pytest.mark.parametrize("answering", ["RECOVERING", "UPDATING", "PENDING_MIGRATION"])
    def test_a_replica_answers_while_a_new_controller_looks_at_it_or_gives_it_new_settings(
        self, answering: str
    ) -> None:
        """Called deploying, the gateway would turn requests away."""
        app = seen("DEPLOYING", V1, replace(OLD, state=answering), deployment="UPDATING")
        state = step(want(), RUNS, app).state
        assert (state.phase, state.message) == ("running", "")

    def test_scaled_to_zero(self) -> None:
        state = step(want(), RUNS, seen("RUNNING", V1, deployment="HEALTHY", target=0)).state
        assert state.phase == "paused"


class TestFailedStart:
    FAILED = seen("DEPLOY_FAILED", V1, deployment="DEPLOY_FAILED", message="ValueError: x")

    def test_three_starts_with_growing_pauses(self) -> None:
        state = replace(RECORDED, phase="deploying", observed_generation=1)
        now = NOW
        story = []
        for _ in range(3):
            moved = step(want(), state, self.FAILED, now)
            story.append((moved.state.phase, moved.state.step, moved.state.failures, moved.state.message))
            if moved.state.phase == "failed":
                break
            assert moved.application is None
            assert moved.state.retry_at is not None
            early = step(want(), moved.state, None, moved.state.retry_at - timedelta(milliseconds=1))
            assert early.application is None
            now = moved.state.retry_at
            again = step(want(), moved.state, None, now)
            assert again.application == V1
            assert (again.state.step, again.state.retry_at) == ("apply", None)
            state = again.state
        assert story == [
            ("deploying", "clear", 1, "Start 1 of 3 failed, the next follows in 1 s. ValueError: x"),
            ("deploying", "clear", 2, "Start 2 of 3 failed, the next follows in 2 s. ValueError: x"),
            ("failed", "apply", 3, "ValueError: x"),
        ]

    def test_it_stays_out_until_ray_has_forgotten_it(self) -> None:
        clearing = replace(RECORDED, step="clear", phase="deploying", failures=1, retry_at=NOW)
        moved = step(want(), clearing, seen("DELETING", None), NOW + timedelta(minutes=1))
        assert moved.application is None
        assert (moved.state.step, moved.state.phase) == ("clear", "deploying")

    def test_a_failure_is_counted_once(self) -> None:
        failed = replace(
            RECORDED,
            phase="failed",
            failures=3,
            message="ValueError: x",
            ray_status="DEPLOY_FAILED",
            observed_generation=1,
        )
        assert step(want(), failed, self.FAILED) == Moved(failed, V1)

    def test_a_failure_of_the_version_before_is_cleared_first(self) -> None:
        recorded = replace(RECORDED, phase="deploying", observed_generation=1)
        moved = step(want(V2, generation=2), recorded, self.FAILED)
        assert moved.application is None
        assert (moved.state.step, moved.state.phase, moved.state.failures) == ("clear", "deploying", 0)
        assert moved.state.observed_generation == 1
        after = step(want(V2, generation=2), moved.state, None)
        assert (after.application, after.state.step) == (V2, "apply")

    def test_a_success_forgets_the_failures(self) -> None:
        trying = replace(RECORDED, phase="deploying", failures=2, message="Start 2 of 3 failed.")
        state = step(want(), trying, seen("RUNNING", V1, OLD, deployment="HEALTHY")).state
        assert (state.phase, state.failures, state.message) == ("running", 0, "")

    def test_a_failure_without_a_word(self) -> None:
        app = seen("DEPLOY_FAILED", V1, deployment="DEPLOY_FAILED")
        state = step(want(), replace(RECORDED, failures=2), app).state
        assert state.message == "Ray gave no reason; the replica's log may have it."


class TestUpdate:
    WANTED = want(V2, generation=2)
    BEFORE = replace(RUNS, phase="deploying", replaced_bundle_fingerprint="b1")

    def test_the_older_version_is_not_taken_for_the_wanted_one(self) -> None:
        moved = step(self.WANTED, self.BEFORE, seen("RUNNING", V1, OLD, deployment="HEALTHY"))
        assert moved.application == V2
        assert moved.state == replace(self.BEFORE, replicas=(OUTDATED,))

    def test_to_the_end(self) -> None:
        building = replace(self.BEFORE, replicas=(OUTDATED,))
        state = step(self.WANTED, building, seen("DEPLOYING", V2)).state
        assert (state.phase, state.replicas) == ("deploying", (OUTDATED,))

        starting = ObservedReplica("new", "STARTING")
        state = step(self.WANTED, state, seen("DEPLOYING", V2, OLD, starting, deployment="UPDATING")).state
        assert (state.phase, state.observed_generation) == ("deploying", 2)

        stopping = replace(OLD, state="STOPPING")
        state = step(self.WANTED, state, seen("DEPLOYING", V2, stopping, NEW, deployment="UPDATING")).state
        assert state.phase == "running"
        assert state.message == "The replicas of the version before finish their last requests."
        assert state.replaced_bundle_fingerprint == "b1"

        state = step(self.WANTED, state, seen("RUNNING", V2, NEW, deployment="HEALTHY")).state
        assert (state.phase, state.message, state.replaced_bundle_fingerprint) == ("running", "", "")
        assert state.replicas == (NEW,)

    def test_a_failed_update_says_so_and_the_old_replicas_are_never_removed(self) -> None:
        failed = seen("DEPLOY_FAILED", V2, OLD, deployment="DEPLOY_FAILED", message="ValueError: x")
        moved = step(self.WANTED, replace(self.BEFORE, replicas=(OUTDATED,)), failed)
        assert moved.application == V2
        assert (moved.state.phase, moved.state.step, moved.state.failures) == ("failed", "apply", 1)
        assert moved.state.message == "The replicas of the version before go on serving. ValueError: x"
        assert moved.state.replicas == (OUTDATED,)
        assert step(self.WANTED, moved.state, failed) == moved

    def test_a_failed_update_deployed_again_is_another_application_to_ray(self) -> None:
        state = replace(self.BEFORE, replicas=(OUTDATED,), restarts=1)
        app = seen("DEPLOY_FAILED", V2, OLD, deployment="DEPLOY_FAILED")
        moved = step(want(V2, generation=3), state, app)
        assert moved.application == {**V2, "args": {"bundle": 2, "restarts": 1}}
        assert (moved.state.phase, moved.state.step) == ("deploying", "apply")

    def test_back_to_the_version_before_after_a_failed_update(self) -> None:
        failed = replace(self.BEFORE, phase="deploying", replicas=(OUTDATED,), observed_generation=2)
        app = seen("DEPLOY_FAILED", V2, OLD, deployment="DEPLOY_FAILED")
        moved = step(want(V1, generation=3), failed, app)
        assert moved.application == V1
        assert moved.state.step == "apply"
        state = step(
            want(V1, generation=3), moved.state, seen("RUNNING", V1, OLD, deployment="HEALTHY")
        ).state
        assert (state.phase, state.replicas, state.observed_generation) == ("running", (OLD,), 3)

    def test_scaling_up_waits_for_all_and_replaces_none(self) -> None:
        wanted = want(V1_TWICE, generation=2)
        moved = step(wanted, RUNS, seen("RUNNING", V1, OLD, deployment="HEALTHY"))
        assert (moved.application, moved.state.replicas) == (V1_TWICE, (OLD,))
        # Right after the PUT Ray still shows the target from before it.
        state = step(wanted, moved.state, seen("DEPLOYING", V1_TWICE, OLD, deployment="HEALTHY")).state
        assert state.phase == "deploying"
        app = seen("DEPLOYING", V1_TWICE, OLD, deployment="UPSCALING", target=2)
        assert step(wanted, state, app).state.phase == "deploying"
        app = seen("RUNNING", V1_TWICE, OLD, NEW, deployment="HEALTHY", target=2)
        assert step(wanted, state, app).state.phase == "running"


class TestLeaving:
    def test_left_out_until_gone(self) -> None:
        wanted = want(generation=2, present=False)
        deleting = replace(RUNS, phase="deleting")
        moved = step(wanted, deleting, seen("RUNNING", V1, OLD, deployment="HEALTHY"))
        assert moved == Moved(deleting, None)
        moved = step(wanted, deleting, seen("DELETING", None, replace(OLD, state="STOPPING")))
        assert (moved.application, moved.state.phase, moved.state.observed_generation) == (
            None,
            "deleting",
            1,
        )
        moved = step(wanted, moved.state, None)
        assert moved.application is None
        assert moved.state == replace(RECORDED, phase="not_deployed", observed_generation=2)

    def test_a_failed_one_can_be_undeployed(self) -> None:
        failed = replace(RECORDED, phase="failed", failures=3, message="x", restarts=2)
        state = step(want(generation=2, present=False), failed, None).state
        assert state == replace(RECORDED, phase="not_deployed", observed_generation=2)

    def test_deployed_again_while_on_its_way_out(self) -> None:
        moved = step(want(generation=3), RECORDED, seen("DELETING", None, replace(OLD, state="STOPPING")))
        assert moved.application == V1
        assert moved.state.phase == "deploying"


def test_a_ray_that_lost_it_is_filled_again() -> None:
    moved = step(want(), RUNS, None)
    assert moved.application == V1
    assert moved.state == replace(
        RECORDED,
        phase="deploying",
        message="Ray no longer had this application; it is started again.",
        observed_generation=1,
    )


def test_unhealthy_says_why() -> None:
    app = seen("UNHEALTHY", V1, OLD, deployment="UNHEALTHY", message="health check timed out")
    state = step(want(), RUNS, app).state
    assert (state.phase, state.message) == ("unhealthy", "health check timed out")


PAUSED_V1: dict[str, Any] = {**V1, "deployments": [{"name": "App", "autoscaling_config": asleep()}]}
WHY = "Paused to make room for f/s/other; the next request wakes it."
EARLIER = NOW - timedelta(minutes=5)


class TestPause:
    DECIDED = paused(RUNS, WHY, EARLIER)
    ASLEEP = replace(DECIDED, replicas=())
    STARTING = ObservedReplica("r", "STARTING")

    def test_it_is_put_without_room_for_a_replica_and_says_why(self) -> None:
        moved = step(want(), self.DECIDED, seen("RUNNING", V1, OLD, deployment="HEALTHY"))
        assert moved.application == PAUSED_V1
        assert (moved.state.phase, moved.state.message) == ("paused", WHY)
        assert moved.state.used_at == EARLIER

    def test_the_target_from_before_does_not_wake_it(self) -> None:
        """Ray shows the old target, as DEPLOYING, until its controller's next turn."""
        app = seen("DEPLOYING", PAUSED_V1, OLD, deployment="HEALTHY", target=1)
        assert step(want(), self.DECIDED, app).state.pause == "paused"

    def test_it_stays_as_it_is(self) -> None:
        app = seen("RUNNING", PAUSED_V1, deployment="HEALTHY", target=0)
        assert step(want(), self.ASLEEP, app) == Moved(self.ASLEEP, PAUSED_V1)

    def test_a_request_wakes_it(self) -> None:
        app = seen("RUNNING", PAUSED_V1, self.STARTING, deployment="UPSCALING", target=1)
        moved = step(want(), self.ASLEEP, app)
        assert moved.application == V1
        assert (moved.state.pause, moved.state.phase, moved.state.message, moved.state.used_at) == (
            "waking",
            "deploying",
            WOKEN,
            NOW,
        )
        starting = step(want(), moved.state, seen("DEPLOYING", V1, self.STARTING, deployment="UPDATING"))
        assert (starting.state.phase, starting.state.message) == ("deploying", WOKEN)
        later = NOW + timedelta(seconds=6)
        up = step(want(), starting.state, seen("RUNNING", V1, NEW, deployment="HEALTHY"), later).state
        assert (up.pause, up.phase, up.message, up.used_at) == ("", "running", "", later)

    def test_a_ray_that_lost_it_is_told_of_it_and_starts_nothing(self) -> None:
        moved = step(want(), self.ASLEEP, None)
        assert moved.application == PAUSED_V1
        assert (moved.state.phase, moved.state.message) == ("paused", WHY)

    def test_a_wake_that_fails_is_a_failed_start(self) -> None:
        waking = replace(self.ASLEEP, pause="waking", phase="deploying", message=WOKEN)
        failed = seen("DEPLOY_FAILED", V1, deployment="DEPLOY_FAILED", message="ValueError: x")
        moved = step(want(), waking, failed)
        assert (moved.state.pause, moved.state.step, moved.state.failures) == ("", "clear", 1)
        assert moved.state.message == "Start 1 of 3 failed, the next follows in 1 s. ValueError: x"

    def test_undeployed_while_paused(self) -> None:
        app = seen("RUNNING", PAUSED_V1, deployment="HEALTHY", target=0)
        moved = step(want(generation=2, present=False), self.ASLEEP, app)
        assert (moved.application, moved.state.pause, moved.state.phase) == (None, "", "deleting")


class TestAsleepByLoad:
    APP: ClassVar[dict[str, Any]] = {
        **V1,
        "deployments": [
            {"name": "App", "autoscaling_config": by_load(Autoscaling(min_replicas=0, max_replicas=2), 1)}
        ],
    }
    ASLEEP = replace(RUNS, phase="paused", replicas=())

    def test_a_request_wakes_it(self) -> None:
        state = step(want(self.APP), self.ASLEEP, seen("RUNNING", self.APP, deployment="UPSCALING")).state
        assert state.phase == "deploying"
        state = step(want(self.APP), state, seen("RUNNING", self.APP, NEW, deployment="HEALTHY")).state
        assert state.phase == "running"

    def test_the_flash_of_anothers_put_does_not_show(self) -> None:
        app = seen("DEPLOYING", self.APP, deployment="HEALTHY", target=0)
        assert step(want(self.APP), self.ASLEEP, app).state.phase == "paused"

    def test_an_update_is_deploying_until_it_has_run(self) -> None:
        app = seen("DEPLOYING", self.APP, deployment="UPDATING", target=0)
        state = step(want(self.APP, generation=2), self.ASLEEP, app).state
        assert state.phase == "deploying"


class TestInPlace:
    def test_it_says_that_there_is_a_gap_and_ends_when_it_runs(self) -> None:
        wanted = want(V2, generation=2)
        state = replace(RUNS, phase="deploying", replicas=(OUTDATED,), in_place=True)
        surging = seen("DEPLOYING", V2, OLD, ObservedReplica("r", "STARTING"), deployment="UPDATING")
        moved = step(wanted, state, surging)
        assert moved.application is not None
        assert moved.application["deployments"][0]["max_surge_percent"] == 0
        stopping = seen("DEPLOYING", moved.application, replace(OLD, state="STOPPING"), deployment="UPDATING")
        state = step(wanted, moved.state, stopping).state
        assert (state.phase, state.message, state.in_place) == ("deploying", IN_PLACE, True)
        state = step(wanted, state, seen("RUNNING", moved.application, NEW, deployment="HEALTHY")).state
        assert (state.phase, state.message, state.in_place) == ("running", "", False)


def test_what_took_long_to_start_counts_as_used_when_it_is_up() -> None:
    deploying = replace(RECORDED, phase="deploying", used_at=EARLIER)
    state = step(want(), deploying, seen("RUNNING", V1, OLD, deployment="HEALTHY")).state
    assert (state.phase, state.used_at) == ("running", NOW)
    again = step(
        want(), state, seen("RUNNING", V1, OLD, deployment="HEALTHY"), NOW + timedelta(hours=1)
    ).state
    assert again.used_at == NOW


class TestFlash:
    """A PUT gives every application the status DEPLOYING until the controller's next turn."""

    def test_nothing_is_written_of_what_did_not_change(self) -> None:
        moved = step(want(), RUNS, seen("DEPLOYING", V1, OLD, deployment="HEALTHY"))
        assert moved.state is RUNS
        assert moved.application == V1

    def test_another_count_of_it_is_seen(self) -> None:
        wanted = want(V1_TWICE, generation=2)
        scaling = replace(RUNS, phase="running")
        moved = step(wanted, scaling, seen("DEPLOYING", V1_TWICE, OLD, deployment="HEALTHY"))
        assert (moved.state.phase, moved.state.ray_status) == ("deploying", "DEPLOYING")

    def test_replicas_that_move_are_no_flash(self) -> None:
        moved = step(want(), RUNS, seen("DEPLOYING", V1, OLD, NEW, deployment="UPDATING"))
        assert moved.state.replicas == (OLD, NEW)

    def test_what_has_not_come_up_is_no_flash(self) -> None:
        coming = replace(RUNS, phase="deploying")
        moved = step(want(), coming, seen("DEPLOYING", V1, OLD, deployment="HEALTHY"))
        assert moved.state.phase == "running"
