"""What of a move is worth telling."""

from __future__ import annotations

from dataclasses import replace

from roost.serving.history import told
from roost.serving.state import State

RUNNING = State(
    step="apply",
    failures=0,
    retry_at=None,
    restarts=0,
    phase="running",
    message="",
    ray_status="RUNNING",
    replicas=(),
    replaced_bundle_fingerprint="",
    observed_generation=1,
)


def test_nothing_new_is_told_of_the_same_phase() -> None:
    assert list(told(RUNNING, replace(RUNNING, ray_status="DEPLOYING", observed_generation=2))) == []


def test_a_change_of_phase_says_from_what_to_what() -> None:
    unhealthy = replace(RUNNING, phase="unhealthy", message="It does not answer.")
    assert list(told(RUNNING, unhealthy)) == [
        ("phase", "It does not answer.", {"phase": "unhealthy", "before": "running"})
    ]


def test_a_pause_says_why() -> None:
    paused = replace(RUNNING, phase="paused", pause="paused", message="It made room for 'f/s/r'.")
    phases = {"phase": "paused", "before": "running"}
    assert list(told(RUNNING, paused)) == [("paused", "It made room for 'f/s/r'.", phases)]
    assert list(told(paused, replace(paused, message=""))) == []
    assert list(told(RUNNING, replace(paused, message=""))) == [("paused", "It was paused.", phases)]


def test_one_that_ray_put_to_sleep_by_itself_changes_its_phase() -> None:
    asleep = replace(RUNNING, phase="paused")
    assert list(told(RUNNING, asleep)) == [("phase", "", {"phase": "paused", "before": "running"})]


def test_a_request_that_wakes_it_is_told_once() -> None:
    paused = replace(RUNNING, phase="paused", pause="paused")
    waking = replace(paused, phase="deploying", pause="waking")
    assert list(told(paused, waking)) == [
        ("woken", "A request woke it.", {"phase": "deploying", "before": "paused"})
    ]
    assert list(told(waking, replace(waking, pause=""))) == []


def test_each_failed_start_is_told_with_its_count() -> None:
    failed = replace(RUNNING, failures=2, message="Start 2 of 3 failed.")
    assert list(told(RUNNING, failed)) == [("start_failed", "Start 2 of 3 failed.", {"failures": 2})]
    assert list(told(failed, replace(failed, failures=0))) == []
