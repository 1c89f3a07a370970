"""What FakeServe does on script, and what the engine's client makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable
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
    assert fake.status("a") == "DEPLOY_FAILED"
    api.put({"applications": [{**APP, "args": {"v": 2}}]})
    assert fake.status("a") == "DEPLOYING"


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
