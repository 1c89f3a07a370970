"""Events of every kind really occur, in order, and do not flood the records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from roost.contracts.autoscaling import Autoscaling
from roost.contracts.deployment import DeployRequest
from roost.contracts.event import EventKind
from roost.keys import DeploymentKey, ModelKey
from roost.records.deployments import observe
from roost.services.events import Events
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

MODEL = ModelKey("f", "s", "r")
OTHER = ModelKey("f", "s", "other")
KEY = DeploymentKey("f", "s", "r")
APP = "f__s__r"


@pytest.fixture
def server(tmp_path: Path, records_url: str | None) -> Iterator[InProcessServer]:
    server = InProcessServer(tmp_path, database_url=records_url)
    save_ready_model(server.db, MODEL)
    save_ready_model(server.db, OTHER)
    yield server
    server.close()


def deploy(server: InProcessServer, model: ModelKey = MODEL, **request: Any) -> None:
    server.deployments.deploy(model, DeployRequest(**request))


def told(server: InProcessServer, after_id: int | None = None) -> list[tuple[str, str, str]]:
    """Kind, run name and sentence."""
    found = Events(server.db).list(after_id=after_id).items
    return [(event.kind, event.subject.rpartition("/")[2], event.message) for event in found]


def phases(server: InProcessServer) -> list[str]:
    found = Events(server.db).list(subject=KEY).items
    return [f"{event.data['before']} > {event.data['phase']}" for event in found if event.kind == "phase"]


def kinds(server: InProcessServer, after_id: int | None = None) -> list[str]:
    return [kind for kind, _, _ in told(server, after_id)]


def last_id(server: InProcessServer) -> int:
    return Events(server.db).list(limit=1).items[0].id


def test_deploying_and_running(server: InProcessServer) -> None:
    deploy(server)
    assert told(server)[0] == ("deployed", "r", "It is to be deployed as 'f/s'.")
    assert kinds(server) == ["deployed", "phase"]
    assert phases(server) == ["not_started > running"]
    first = Events(server.db).list().items[0]
    assert first.data == {"generation": 1, "bundle": "b" * 64, "name": "f/s"}
    assert (first.id, first.at) == (1, server.clock.now())


def test_a_redeploy_that_changes_nothing_is_no_event(server: InProcessServer) -> None:
    deploy(server)
    before = last_id(server)
    deploy(server)
    server.settle()
    assert told(server, before) == []


def test_scaling_and_updating(server: InProcessServer) -> None:
    deploy(server)
    before = last_id(server)
    deploy(server, num_replicas=2)
    assert told(server, before)[0] == ("scaled", "r", "Wanted are 2 replicas; none restarts.")
    before = last_id(server)
    deploy(server, num_replicas=2, autoscaling=Autoscaling(min_replicas=1, max_replicas=3))
    assert told(server, before)[0] == ("scaled", "r", "Wanted are 1 to 3 replicas; none restarts.")
    before = last_id(server)
    save_ready_model(server.db, MODEL, bundle="c" * 64)
    server.deployments.redeploy(KEY)
    assert told(server, before)[0] == ("updated", "r", "Its replicas are to be replaced.")


def test_one_replica_is_one(server: InProcessServer) -> None:
    deploy(server, num_replicas=2)
    before = last_id(server)
    deploy(server)
    assert told(server, before)[0] == ("scaled", "r", "Wanted is 1 replica; none restarts.")


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"pinned": True}, "It is pinned now. No replica restarts."),
        ({"rollout": "in_place"}, "Its rollout is 'in_place' now. No replica restarts."),
        (
            {"idle_timeout_s": 90},
            "It is paused after 90 s without a request from now on. No replica restarts.",
        ),
    ],
)
def test_what_is_not_scaling_is_not_told_as_such(
    server: InProcessServer, request_: dict[str, Any], sentence: str
) -> None:
    deploy(server)
    before = last_id(server)
    deploy(server, **request_)
    assert told(server, before)[0] == ("updated", "r", sentence)


def test_a_pin_and_a_limit_that_are_taken_back(server: InProcessServer) -> None:
    deploy(server, pinned=True, idle_timeout_s=90)
    before = last_id(server)
    deploy(server)
    wanted = "It is pinned no more. It is not paused for being idle from now on. No replica restarts."
    assert told(server, before)[0] == ("updated", "r", wanted)


def test_a_moved_name_is_told_of_both(server: InProcessServer) -> None:
    deploy(server, name="mine")
    deploy(server, OTHER, name="theirs")
    before = last_id(server)
    deploy(server, OTHER, name="mine", take_name=True)
    assert told(server, before) == [
        ("renamed", "r", "Its name is 'f/s/r' now."),
        ("renamed", "other", "Its name is 'mine' now."),
    ]


def test_a_new_deployment_that_takes_a_name(server: InProcessServer) -> None:
    deploy(server, name="mine")
    before = last_id(server)
    deploy(server, OTHER, name="mine", take_name=True)
    assert told(server, before)[:2] == [
        ("renamed", "r", "Its name is 'f/s/r' now."),
        ("deployed", "other", "It is to be deployed as 'mine'."),
    ]


def test_undeploying_once_and_twice(server: InProcessServer) -> None:
    deploy(server)
    before = last_id(server)
    server.deployments.undeploy(KEY)
    server.deployments.undeploy(KEY)
    server.settle()
    assert kinds(server, before) == ["undeployed", "phase"]
    assert phases(server)[-1] == "deleting > not_deployed"


def test_starts_that_fail_are_told_each_then_the_failure(server: InProcessServer) -> None:
    server.ray.broken[APP] = "ValueError: no such file"
    deploy(server)
    server.settle()
    failed = [event for event in Events(server.db).list().items if event.kind == "start_failed"]
    assert [event.data["failures"] for event in failed] == [1, 2, 3]
    assert "ValueError: no such file" in failed[0].message
    assert phases(server)[-1] == "deploying > failed"


def test_a_request_wakes_what_is_paused(server: InProcessServer) -> None:
    deploy(server)
    with server.db.write() as session:
        assert observe(session, str(KEY), 1, {"pause": "paused"})
    server.reconcile()
    assert phases(server)[-1] == "running > paused"
    before = last_id(server)
    server.ray.wake(APP)
    server.reconcile()
    assert told(server, before)[0] == ("woken", "r", "A request woke it.")
    assert kinds(server, before) == ["woken", "phase"]
    assert phases(server)[-2:] == ["running > paused", "deploying > running"]


def test_every_kind_of_event_is_known_here(server: InProcessServer) -> None:
    assert set(get_args(EventKind)) == {
        "deployed",
        "updated",
        "scaled",
        "renamed",
        "undeployed",
        "phase",
        "start_failed",
        "paused",
        "woken",
        "config_set",
        "requirements_set",
        "model_deleted",
    }


def flap(server: InProcessServer, times: int) -> None:
    """Its only replica dies and starts again, every two seconds."""
    for _ in range(times):
        for status in ("UNHEALTHY", "RUNNING"):
            server.ray.show(APP, status)
            server.clock.advance(1)
            server.reconciler.cycle()


def test_a_replica_that_restarts_for_hours_is_counted_not_listed(server: InProcessServer) -> None:
    deploy(server)
    flap(server, 40)
    found = [event for event in Events(server.db).list(limit=1000).items if event.kind == "phase"]
    assert len(found) == 9
    assert found[-1].data == {
        "phase": "running",
        "before": "unhealthy",
        "times": 37,
        "until": "2026-01-01T00:01:20+00:00",
    }


def test_after_a_wish_the_changes_are_told_again(server: InProcessServer) -> None:
    deploy(server)
    flap(server, 10)
    before = last_id(server)
    deploy(server, num_replicas=2)
    flap(server, 1)
    assert kinds(server, before) == ["scaled", "phase", "phase", "phase"]
