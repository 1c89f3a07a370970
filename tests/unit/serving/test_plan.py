"""All records against one look at Ray."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from roost.serving.observed import ObservedApp, ObservedReplica, ObservedServe
from roost.serving.plan import Echoes, IngressOptions, plan
from roost.serving.scale import fixed
from roost.serving.state import State, Wanted

NOW = datetime(2026, 1, 1, tzinfo=UTC)
INGRESS = IngressOptions(http_options={"host": "127.0.0.1", "port": 18000})
NEW = State("apply", 0, None, 0, "not_started", "", "NOT_STARTED", (), "", 0)
STRANGER: dict[str, Any] = {"name": "theirs", "route_prefix": "/", "import_path": "their:app"}


def application(name: str, bundle: int = 1) -> dict[str, Any]:
    return {
        "name": name,
        "args": {"bundle": bundle},
        "deployments": [{"name": "App", "autoscaling_config": fixed(1)}],
    }


def record(name: str, bundle: int = 1, *, present: bool = True, state: State = NEW) -> tuple[Wanted, State]:
    return Wanted(f"f/s/{name}", name, 1, present, application(name, bundle)), state


def running(config: dict[str, Any] | None) -> ObservedApp:
    return ObservedApp("RUNNING", "", config, ("HEALTHY",), 1, (ObservedReplica("r", "RUNNING"),))


def test_the_first_put_says_where_to_listen() -> None:
    planned = plan([record("a")], ObservedServe(apps={}), NOW)
    assert planned.needs_put
    assert planned.body(INGRESS) == {
        "proxy_location": "HeadOnly",
        "http_options": {"host": "127.0.0.1", "port": 18000},
        "applications": [application("a")],
    }


def test_no_records_and_no_serve_need_no_put() -> None:
    assert not plan([], ObservedServe(apps={}), NOW).needs_put


def test_only_a_difference_needs_a_put() -> None:
    observed = ObservedServe(apps={"a": running(application("a")), "theirs": running(STRANGER)})
    planned = plan([record("a")], observed, NOW)
    assert not planned.needs_put
    assert (planned.changed, planned.removed) == ([], [])


def test_one_put_for_a_burst_and_the_rest_byte_equal() -> None:
    observed = ObservedServe(
        apps={
            "a": running(application("a")),
            "gone": running(application("gone")),
            "theirs": running(STRANGER),
            "made_by_hand": running(None),
        },
        http_options={"host": "0.0.0.0", "port": 8000},
        proxy_location="EveryNode",
        target_capacity=50.0,
    )
    records = [record("a"), record("b"), record("c", 2), record("gone", present=False)]
    planned = plan(records, observed, NOW)
    assert (planned.changed, planned.removed) == (["b", "c"], ["gone"])
    assert planned.body(INGRESS) == {
        "proxy_location": "EveryNode",
        "http_options": {"host": "0.0.0.0", "port": 8000},
        "target_capacity": 50.0,
        "applications": [application("a"), application("b"), application("c", 2), STRANGER],
    }


def test_what_is_being_deleted_needs_no_further_put() -> None:
    observed = ObservedServe(apps={"gone": ObservedApp("DELETING")})
    planned = plan([record("gone", present=False)], observed, NOW)
    assert not planned.needs_put
    assert planned.states["f/s/gone"].phase == "deleting"


def test_a_bad_record_stops_nobody_and_loses_nothing() -> None:
    bad = replace(NEW, failures="many", phase="deploying")  # type: ignore[arg-type]
    failed = ObservedApp("DEPLOY_FAILED", "", application("bad"), ("DEPLOY_FAILED",), 1, ())
    planned = plan([record("bad", state=bad), record("good")], ObservedServe(apps={"bad": failed}), NOW)
    assert list(planned.broken) == ["f/s/bad"]
    assert isinstance(planned.broken["f/s/bad"], TypeError)
    assert planned.body(INGRESS)["applications"] == [application("bad"), application("good")]


def test_a_change_held_back_leaves_ray_as_it_is() -> None:
    observed = ObservedServe(apps={"a": running(application("a", 1))})
    planned = plan([record("a", 2), record("b")], observed, NOW)
    assert planned.body(INGRESS, without={"a", "b"})["applications"] == [application("a", 1)]
    assert planned.body(INGRESS, without={"a"})["applications"] == [application("a", 1), application("b")]


class TestEchoes:
    def test_an_exact_echo(self) -> None:
        assert Echoes().find_config("a", application("a")) == application("a")
        assert Echoes().find_config("a", None) is None

    def test_the_first_answer_after_a_put_counts_as_what_was_put(self) -> None:
        echoes = Echoes()
        filled_in = {**application("a"), "host": "0.0.0.0"}
        echoes.gave({"a": application("a")})
        assert echoes.find_config("a", filled_in) == application("a")
        assert echoes.find_config("a", filled_in) == application("a")

    def test_what_changes_later_was_changed_by_somebody_else(self) -> None:
        echoes = Echoes()
        echoes.gave({"a": application("a")})
        echoes.find_config("a", {**application("a"), "host": "0.0.0.0"})
        assert echoes.find_config("a", application("a", 7)) == application("a", 7)

    def test_each_put_has_an_answer_of_its_own(self) -> None:
        echoes = Echoes()
        echoes.gave({"a": application("a")})
        echoes.find_config("a", {**application("a"), "host": "0.0.0.0"})
        echoes.gave({"a": application("a", 2)})
        assert echoes.find_config("a", {**application("a", 2), "host": "0.0.0.0"}) == application("a", 2)
