"""What FakeServe does on script, and what the engine's client makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable, InternalError
from roost.testing.fake_serve import FakeServe, node_row

APP = {"name": "a", "route_prefix": "/a", "import_path": "m:app"}


@pytest.fixture
def fake() -> Iterator[FakeServe]:
    with FakeServe(instant=False) as server:
        yield server


@pytest.fixture
def api(fake: FakeServe) -> Iterator[ServeApi]:
    api = ServeApi(fake.url, None, timeout_s=0.5, put_timeout_s=0.5)
    yield api
    api.close()


def looks(api: ServeApi, times: int) -> list[str]:
    """The status of application `a` at each of so many looks."""
    return [api.get()["applications"]["a"]["status"] for _ in range(times)]


def replicas(api: ServeApi) -> list[tuple[str, str]]:
    part = api.get()["applications"]["a"]["deployments"]["App"]
    return [(replica["replica_id"], replica["state"]) for replica in part["replicas"]]


def test_applications_move_only_as_the_test_says(fake: FakeServe, api: ServeApi) -> None:
    api.put({"applications": [APP]})
    assert fake.status("a") == "DEPLOYING"
    fake.finish("a")
    assert api.get()["applications"]["a"]["status"] == "RUNNING"
    api.put({"applications": []})
    assert fake.status("a") == "DELETING"
    fake.finish("a")
    assert api.get()["applications"] == {}
    assert fake.puts == [{"applications": [APP]}, {"applications": []}]


def test_a_put_of_the_same_config_changes_nothing_and_another_starts_over(
    fake: FakeServe, api: ServeApi
) -> None:
    api.put({"applications": [APP]})
    fake.fail("a", "RuntimeError: x")
    api.put({"applications": [APP]})
    assert looks(api, 3) == ["DEPLOYING", "DEPLOY_FAILED", "DEPLOY_FAILED"]
    api.put({"applications": [{**APP, "args": {"v": 2}}]})
    assert looks(api, 3) == ["DEPLOYING", "DEPLOYING", "DEPLOYING"]
    assert api.get()["applications"]["a"]["deployments"] == {}


def test_with_instant_each_arrives_after_the_first_look(fake: FakeServe, api: ServeApi) -> None:
    fake.instant = True
    fake.broken["m:bad"] = "RuntimeError: x"
    surging = {**APP, "deployments": [{"name": "App", "max_surge_percent": 100}]}
    api.put({"applications": [surging]})
    assert looks(api, 2) == ["DEPLOYING", "RUNNING"]
    api.put({"applications": [{**surging, "import_path": "m:bad"}]})
    assert looks(api, 2) == ["DEPLOYING", "DEPLOY_FAILED"]
    assert replicas(api) == [("r1", "RUNNING")]
    api.put({"applications": []})
    assert looks(api, 1) == ["DELETING"]
    assert api.get()["applications"] == {}


def test_in_place_the_old_replica_goes_first_and_beside_it_last(fake: FakeServe, api: ServeApi) -> None:
    beside = {**APP, "deployments": [{"name": "App", "max_surge_percent": 100}]}
    in_place = {**APP, "deployments": [{"name": "App", "max_surge_percent": 0}]}
    api.put({"applications": [beside]})
    fake.finish("a")
    api.put({"applications": [{**beside, "args": {"v": 2}}]})
    fake.build("a")
    assert replicas(api) == [("r1", "RUNNING"), ("r2", "STARTING")]
    api.put({"applications": [{**in_place, "args": {"v": 2}}]})
    assert replicas(api) == [("r1", "RUNNING"), ("r2", "STARTING")]
    assert replicas(api) == [("r1", "STOPPING"), ("r2", "STARTING")]
    fake.finish("a")
    assert replicas(api) == [("r2", "RUNNING")]


def test_load_scales_within_a_running_application(fake: FakeServe, api: ServeApi) -> None:
    api.put({"applications": [APP]})
    fake.finish("a")
    fake.scale("a", 2)
    app = api.get()["applications"]["a"]
    assert (app["status"], app["deployments"]["App"]["status"]) == ("RUNNING", "UPSCALING")
    fake.finish("a")
    fake.scale("a", 0)
    assert replicas(api) == [("r1", "STOPPING"), ("r2", "STOPPING")]
    fake.finish("a")
    assert replicas(api) == []
    assert fake.status("a") == "RUNNING"


def test_any_status_is_shown_until_the_application_moves(fake: FakeServe, api: ServeApi) -> None:
    api.put({"applications": [APP]})
    fake.finish("a")
    fake.set_status("a", "A_NEW_STATUS", "of a later Ray")
    assert looks(api, 2) == ["A_NEW_STATUS", "A_NEW_STATUS"]
    assert api.get()["applications"]["a"]["deployments"]["App"]["message"] == "of a later Ray"
    fake.finish("a")
    assert looks(api, 1) == ["RUNNING"]


def test_a_refused_application_refuses_the_whole_set(fake: FakeServe, api: ServeApi) -> None:
    fake.refused["a"] = "ValidationError: odd"
    other = {**APP, "name": "b", "route_prefix": "/b"}
    with pytest.raises(InternalError, match="ValidationError: odd"):
        api.put({"applications": [APP, other]})
    assert (fake.puts, api.get()["applications"]) == ([], {})
    api.put({"applications": [other]})
    assert len(fake.puts) == 1


def test_what_drivers_made_no_put_touches(fake: FakeServe, api: ServeApi) -> None:
    fake.imperative["theirs"] = {"name": "theirs", "status": "RUNNING", "deployed_app_config": None}
    api.put({"applications": []})
    assert api.get()["applications"] == fake.imperative


def test_a_put_without_target_capacity_resets_it(fake: FakeServe, api: ServeApi) -> None:
    api.put({"applications": [], "target_capacity": 50.0})
    assert api.get()["target_capacity"] == 50.0
    api.put({"applications": []})
    assert api.get()["target_capacity"] is None


def test_a_get_outlives_closed_connections_and_a_put_is_never_repeated(
    fake: FakeServe, api: ServeApi
) -> None:
    fake.cut(times=2)
    assert api.get()["applications"] == {}
    assert len(fake.requests) == 3
    fake.cut()
    with pytest.raises(EngineUnavailable):
        api.put({"applications": []})
    assert fake.requests[3:] == [("PUT", "/api/serve/applications/")]
    assert fake.puts == []


def test_trouble_inside_ray_is_unavailable_and_shows_its_last_line(fake: FakeServe, api: ServeApi) -> None:
    fake.refuse(500, "Traceback\n\x1b[31mConnectionError: GCS is down\x1b[0m")
    with pytest.raises(EngineUnavailable, match=r"answers 500 .*'ConnectionError: GCS is down'"):
        api.get()


def test_a_slow_ray_is_unavailable(fake: FakeServe, api: ServeApi) -> None:
    fake.delay_s = 1.0
    with pytest.raises(EngineUnavailable, match="Timeout"):
        api.get()


def test_another_server_is_told_from_ray(fake: FakeServe, api: ServeApi) -> None:
    fake.refuse(200, "<html>")
    with pytest.raises(EngineUnavailable, match=r"not a Ray dashboard with Serve: .*'<html>'"):
        api.get()


def test_a_cluster_that_restarts_is_empty_and_at_the_same_address(fake: FakeServe, api: ServeApi) -> None:
    api.put({"http_options": {"host": "127.0.0.1", "port": 1}, "applications": [APP]})
    fake.stop()
    with pytest.raises(EngineUnavailable):
        api.get()
    fake.lose()
    fake.start()
    assert api.get() == {
        "controller_info": {},
        "proxies": {},
        "applications": {},
        "target_capacity": None,
    }


def test_dead_nodes_are_listed_as_dead(fake: FakeServe, api: ServeApi) -> None:
    fake.nodes = [node_row("n2", name="b", GPU=1.0), node_row("n1", name="a", alive=False)]
    nodes = list_nodes(api.dashboard)
    assert [(node.node_id, node.name, node.alive) for node in nodes] == [
        ("n1", "a", False),
        ("n2", "b", True),
    ]
    assert nodes[1].resources == {"CPU": 2.0, "GPU": 1.0}
