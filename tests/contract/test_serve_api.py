"""What Roost relies on in Ray's dashboard: one suite, held against the fake and against a real cluster."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.logs import replica_log
from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable, InternalError
from roost.testing.fake_serve import NODE_ID, FakeServe, actor_row

APPS = """
from ray import serve

@serve.deployment(name="App")
class App:
    def __init__(self):
        print("\\x1b[32mloaded\\x1b[0m the model")

    async def __call__(self, request):
        return "ok"

@serve.deployment(name="App")
class Broken:
    def __init__(self):
        raise RuntimeError("no such luck")

good = App.bind()
broken = Broken.bind()
"""


@dataclass
class Subject:
    """A dashboard under test; `apps` collects what the running test wants deployed."""

    url: str
    token: str
    options: dict[str, Any]
    patience_s: float
    fake: FakeServe | None = None
    api: ServeApi = field(init=False)

    def __post_init__(self) -> None:
        self.api = ServeApi(self.url, self.token)

    def put(self, *apps: dict[str, Any]) -> None:
        self.api.put({**self.options, "applications": list(apps)})

    def apps(self) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get()["applications"]
        return found

    def wait_for(self, name: str, status: str | None) -> dict[str, Any]:
        return wait(
            lambda: self.apps().get(name, {}), lambda app: app.get("status") == status, self.patience_s
        )


def wait(
    look: Callable[[], dict[str, Any]], good: Callable[[dict[str, Any]], bool], patience_s: float
) -> dict[str, Any]:
    deadline = time.monotonic() + patience_s
    while not good(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)
    return seen


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    home = tmp_path_factory.mktemp("home")
    (home / "contract_apps.py").write_text(APPS)
    cluster = EmbeddedCluster(home, environment={"PYTHONPATH": str(home)}, timeout_s=240)
    cluster.start()
    options = {
        "proxy_location": "HeadOnly",
        "http_options": {"host": "127.0.0.1", "port": cluster.ports.serve},
    }
    subject = Subject(cluster.dashboard_url, cluster.token, options, 120)
    yield subject
    subject.api.close()
    cluster.stop(fast=True)


@pytest.fixture
def fake() -> Iterator[Subject]:
    with FakeServe(token="secret") as server:
        server.broken["contract_apps:broken"] = "Traceback ...\nRuntimeError: no such luck"
        options = {"proxy_location": "HeadOnly", "http_options": {"host": "127.0.0.1", "port": 20_002}}
        subject = Subject(server.url, "secret", options, 0, server)
        subject.put()
        yield subject
        subject.api.close()


@pytest.fixture(params=["fake", pytest.param("ray", marks=pytest.mark.ray)])
def serve(request: pytest.FixtureRequest) -> Iterator[Subject]:
    subject: Subject = request.getfixturevalue(request.param)
    yield subject
    subject.put()
    wait(subject.apps, lambda apps: not apps, subject.patience_s)


def an_app(import_path: str = "contract_apps:good", **more: Any) -> dict[str, Any]:
    name = f"a{uuid.uuid4().hex[:6]}"
    options = {"ray_actor_options": {"num_cpus": 0.1}, "num_replicas": 1}
    return {
        "name": name,
        "route_prefix": f"/r/{name}",
        "import_path": import_path,
        "deployments": [{"name": "App", **options}],
        **more,
    }


def test_serve_runs_with_the_options_it_was_started_with(serve: Subject) -> None:
    details = serve.api.get()
    assert details["applications"] == {}
    assert details["proxy_location"] == "HeadOnly"
    assert details["http_options"]["port"] == serve.options["http_options"]["port"]
    assert [proxy["status"] for proxy in details["proxies"].values()] == ["HEALTHY"]


def test_an_application_comes_up_and_its_config_is_told_back_exactly(serve: Subject) -> None:
    config = an_app()
    serve.put(config)
    app = serve.wait_for(config["name"], "RUNNING")
    assert app["deployed_app_config"] == config
    assert app["route_prefix"] == config["route_prefix"]
    (deployment,) = app["deployments"].values()
    assert (deployment["name"], deployment["status"]) == ("App", "HEALTHY")
    assert deployment["target_num_replicas"] == 1
    (replica,) = deployment["replicas"]
    assert replica["state"] == "RUNNING"
    assert replica["node_id"] in {node.node_id for node in list_nodes(serve.api.dashboard)}


def test_a_put_is_the_whole_set_and_leaves_the_rest_alone(serve: Subject) -> None:
    first, second = an_app(), an_app()
    serve.put(first, second)
    serve.wait_for(first["name"], "RUNNING")
    before = serve.wait_for(second["name"], "RUNNING")
    serve.put(second)
    serve.wait_for(first["name"], None)
    after = serve.apps()[second["name"]]
    assert after["status"] == "RUNNING"
    assert after["deployments"]["App"]["replicas"] == before["deployments"]["App"]["replicas"]


def test_scaling_shows_in_the_target_and_the_replicas(serve: Subject) -> None:
    config = an_app()
    serve.put(config)
    serve.wait_for(config["name"], "RUNNING")
    config["deployments"][0]["num_replicas"] = 2
    serve.put(config)
    deployment = wait(
        lambda: serve.apps()[config["name"]]["deployments"]["App"],
        lambda found: [replica["state"] for replica in found["replicas"]] == ["RUNNING", "RUNNING"],
        serve.patience_s,
    )
    assert deployment["target_num_replicas"] == 2


def test_a_constructor_that_raises_is_told_by_its_deployment(serve: Subject) -> None:
    config = an_app("contract_apps:broken")
    serve.put(config)
    app = serve.wait_for(config["name"], "DEPLOY_FAILED")
    assert "no such luck" in app["deployments"]["App"]["message"]
    serve.put(config)
    assert serve.apps()[config["name"]]["status"] in ("DEPLOY_FAILED", "DEPLOYING")


def test_a_wrong_body_is_refused_with_the_reason_and_changes_nothing(serve: Subject) -> None:
    with pytest.raises(InternalError, match="import_path") as caught:
        serve.put({**an_app(), "import_path": None})
    assert "400" in caught.value.message
    assert serve.apps() == {}


def test_two_applications_of_one_name_are_refused(serve: Subject) -> None:
    config = an_app()
    with pytest.raises(InternalError, match="name"):
        serve.put(config, {**config, "route_prefix": "/other"})


@pytest.mark.parametrize("token", [None, "wrong" * 8])
def test_a_missing_or_wrong_token_is_refused_with_a_next_step(serve: Subject, token: str | None) -> None:
    api = ServeApi(serve.url, token)
    with pytest.raises(EngineUnavailable, match=r"refuses our token \(40[13]\)") as caught:
        api.get()
    assert caught.value.hint is not None
    assert "ROOST_RAY_TOKEN" in caught.value.hint
    api.close()


def test_a_page_that_is_not_there_is_no_dashboard_with_serve(serve: Subject) -> None:
    with pytest.raises(EngineUnavailable, match="not a Ray dashboard with Serve"):
        serve.api.dashboard.get_json("/api/no-such-page")


def test_the_node_is_listed_with_its_resources(serve: Subject) -> None:
    (node,) = list_nodes(serve.api.dashboard)
    assert node.alive
    assert node.resources["CPU"] >= 1
    assert node.labels["ray.io/node-id"] == node.node_id


def test_what_actors_hold_is_used_of_their_node(serve: Subject) -> None:
    config = an_app()
    if serve.fake is not None:
        serve.fake.actors = [
            actor_row(NODE_ID, name="SERVE_CONTROLLER_ACTOR", **{"node:__internal_head__": 0.001}),
            actor_row(NODE_ID, name=f"SERVE_REPLICA::{config['name']}#App#r1", CPU=0.1),
            actor_row(NODE_ID, state="DEAD", CPU=1.0),
        ]
    serve.put(config)
    serve.wait_for(config["name"], "RUNNING")
    wait(  # replicas of the tests before may still be on their way out
        lambda: list_nodes(serve.api.dashboard)[0].used,
        lambda used: used == {"node:__internal_head__": 0.001, "CPU": 0.1},
        serve.patience_s,
    )


def test_the_log_of_a_replica_is_read_without_colours(serve: Subject) -> None:
    config = an_app()
    if serve.fake is not None:
        serve.fake.logs[config["name"]] = "first\n\x1b[32mloaded\x1b[0m the model\n"
    serve.put(config)
    serve.wait_for(config["name"], "RUNNING")
    found = wait(
        lambda: {"text": replica_log(serve.api, config["name"])},
        lambda got: "loaded the model" in got["text"],
        serve.patience_s,
    )
    assert "\x1b" not in found["text"]
    assert len(replica_log(serve.api, config["name"], tail=1).splitlines()) == 1


def test_the_log_of_an_unknown_application_is_empty(serve: Subject) -> None:
    assert replica_log(serve.api, "no-such-app") == ""


def test_an_address_where_nothing_listens_is_unavailable() -> None:
    server = FakeServe().start()
    server.stop()
    api = ServeApi(server.url, None)
    with pytest.raises(EngineUnavailable, match="does not answer") as caught:
        api.get()
    assert repr(server.url) in caught.value.message
    with pytest.raises(EngineUnavailable, match="does not answer"):
        api.put({"applications": []})
    api.close()
