"""`roost events`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx2
import pytest

import roost
from roost.contracts.deployment import DeployRequest
from roost.errors import Unavailable, ValidationFailed
from roost.keys import DeploymentKey, ModelKey
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
ONE = ModelKey("f", "s", "one")
TWO = ModelKey("f", "s", "two")


@pytest.fixture
def server(server: InProcessServer) -> InProcessServer:
    for model in (ONE, TWO):
        save_ready_model(server.db, model)
        server.deployments.deploy(model, DeployRequest(name=model.run_name))
    return server


def test_a_table_of_all(cli: Cli, server: InProcessServer) -> None:
    ran = cli("events")
    assert (ran.code, ran.err) == (0, "")
    header, *rows = [line.rstrip() for line in ran.out.splitlines()]
    assert header.split() == ["TIME", "(UTC)", "KIND", "DEPLOYMENT", "MESSAGE"]
    assert rows == [
        "2026-01-01 00:00:00  deployed  f/s/one     It is to be deployed as 'one'.",
        "2026-01-01 00:00:00  phase     f/s/one     It was not_started and is running.",
        "2026-01-01 00:00:00  deployed  f/s/two     It is to be deployed as 'two'.",
        "2026-01-01 00:00:00  phase     f/s/two     It was not_started and is running.",
    ]
    assert len(cli("events", "--limit", "1").out.splitlines()) == 2


def test_of_one_deployment_by_name_and_by_key(cli: Cli, server: InProcessServer) -> None:
    by_name = cli("events", "two", "--json")
    assert [item["kind"] for item in by_name.json] == ["deployed", "phase"]
    assert {item["subject"] for item in by_name.json} == {"f/s/two"}
    assert cli("events", "f/s/two", "--json").out == by_name.out
    assert cli("events", "nobody").code == 1
    assert cli("events", "a/b/c/d").code == 2
    assert cli("events", "a/b/c").out == "Nothing has happened yet.\n"


def test_of_an_error_the_last_line_and_of_repeats_the_count(cli: Cli, server: InProcessServer) -> None:
    server.ray.broken["f__s__one"] = "Traceback (most recent call last):\n  line 1\nValueError: no weights"
    server.deployments.undeploy(DeploymentKey("f", "s", "one"))
    server.deployments.deploy(ONE, DeployRequest())
    server.settle()
    last = cli("events", "f/s/one").out.splitlines()[-1]
    assert last.split()[2:] == ["phase", "f/s/one", "ValueError:", "no", "weights"]
    del server.ray.broken["f__s__one"]
    for status in ("UNHEALTHY", "RUNNING") * 6:
        server.ray.show("f__s__two", status)
        server.reconciler.cycle()
    assert (
        cli("events", "two")
        .out.splitlines()[-1]
        .endswith("It was unhealthy and is running. (3 times until 2026-01-01 00:01:00)")
    )


def follow(server: InProcessServer, monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """At each long poll the next step happens; at the one after the last, Ctrl-C."""
    answer = server.answer
    left = list(steps)

    def answer_or_end(request: httpx2.Request) -> httpx2.Response:
        if "afterId" in str(request.url):
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()
        return answer(request)

    monkeypatch.setattr(server, "answer", answer_or_end)


def test_following_prints_what_comes_and_ends_well(
    cli: Cli, server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(
        server,
        monkeypatch,
        lambda: server.deployments.deploy(ONE, DeployRequest(num_replicas=2)),
        lambda: server.deployments.undeploy(DeploymentKey("f", "s", "two")),
    )
    ran = cli("events", "--follow", "--limit", "1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "2026-01-01 00:00:00  phase         f/s/two  It was not_started and is running.",
        "2026-01-01 00:00:00  scaled        f/s/one  Wanted are 2 replicas; none restarts.",
        "2026-01-01 00:00:00  phase         f/s/one  It was deploying and is running.",
        "2026-01-01 00:00:00  undeployed    f/s/two  It is to be removed.",
        "2026-01-01 00:00:00  phase         f/s/two  It was deleting and is not_deployed.",
    ]
    asked = [path for _, path in server.requests if "afterId" in path]
    assert [path.partition("?")[2] for path in asked] == [
        "afterId=4&limit=1000&waitS=20.0",
        "afterId=6&limit=1000&waitS=20.0",
    ]


def test_following_as_json_is_an_object_a_line(
    cli: Cli, server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(server, monkeypatch, lambda: server.deployments.undeploy(DeploymentKey("f", "s", "two")))
    ran = cli("events", "two", "-f", "--json")
    assert ran.code == 0
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["kind"] for line in lines] == ["deployed", "phase", "undeployed", "phase"]


def test_following_waits_for_a_server_that_goes_and_goes_on(
    cli: Cli, server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undeploy_while_down() -> None:
        server.deployments.undeploy(DeploymentKey("f", "s", "two"))
        server.down = True

    monkeypatch.setattr("roost.cli.events._RETRY_S", 0.0)
    follow(
        server,
        monkeypatch,
        undeploy_while_down,
        lambda: setattr(server, "down", True),
        lambda: setattr(server, "down", False),
    )
    ran = cli("events", "-f", "--limit", "1")
    assert ran.code == 0
    assert ran.err.count("No Roost server answers") == 1
    assert "Waiting for it; Ctrl-C ends." in ran.err
    assert ran.out.splitlines()[1] == "2026-01-01 00:00:00  undeployed    f/s/two  It is to be removed."


def test_the_function(server: InProcessServer) -> None:
    found = roost.list_events()
    assert [(event.id, event.kind, event.subject) for event in found] == [
        (1, "deployed", "f/s/one"),
        (2, "phase", "f/s/one"),
        (3, "deployed", "f/s/two"),
        (4, "phase", "f/s/two"),
    ]
    assert [event.id for event in roost.list_events(DeploymentKey("f", "s", "two"))] == [3, 4]
    assert [event.id for event in roost.list_events(limit=1)] == [4]
    assert [event.id for event in roost.list_events(after_id=1, limit=2)] == [2, 3]
    with pytest.raises(ValidationFailed, match="limit"):
        roost.list_events(limit=0)


def test_the_function_raises_its_own_errors(server: InProcessServer) -> None:
    server.down = True
    with pytest.raises(Unavailable):
        roost.list_events()
