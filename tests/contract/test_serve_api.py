"""What Roost relies on in Ray's dashboard, held against the fake and against a real cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from roost.engine.logs import replica_log
from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable, InternalError
from roost.testing.fake_serve import NODE_ID, FakeServe, actor_row

if TYPE_CHECKING:
    from tests.contract.conftest import Subject


def test_serve_runs_with_the_options_it_was_started_with(serve: Subject) -> None:
    details = serve.api.get()
    assert details["proxy_location"] == "HeadOnly"
    assert details["http_options"]["port"] == serve.options["http_options"]["port"]
    assert [proxy["status"] for proxy in details["proxies"].values()] == ["HEALTHY"]


def test_a_wrong_body_is_refused_with_the_reason_and_changes_nothing(serve: Subject) -> None:
    config, kept = serve.an_app(), serve.an_app()
    serve.put(kept)
    with pytest.raises(InternalError, match="import_path") as caught:
        serve.put({**config, "import_path": None})
    assert "400" in caught.value.message
    apps = serve.apps()
    assert config["name"] not in apps
    assert apps[kept["name"]]["deployed_app_config"] == kept


def test_two_applications_of_one_name_are_refused(serve: Subject) -> None:
    config = serve.an_app()
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
    config = serve.an_app()
    if serve.fake is not None:
        serve.fake.actors = [
            {**actor_row(NODE_ID), "required_resources": {"node:__internal_head__": 0.001}},
            actor_row(NODE_ID, name=f"SERVE_REPLICA::{config['name']}#App#r1", CPU=0.1),
            actor_row(NODE_ID, state="DEAD", CPU=1.0),
        ]
    serve.put(config)
    serve.wait_for(config["name"], "RUNNING")
    serve.until(  # replicas of the tests before may still be on their way out
        lambda: list_nodes(serve.api.dashboard)[0].used,
        lambda used: used == {"node:__internal_head__": 0.001, "CPU": 0.1},
    )


def test_the_log_of_a_replica_is_read_without_colours(serve: Subject) -> None:
    config = serve.an_app()
    if serve.fake is not None:
        serve.fake.logs[config["name"]] = "first\n\x1b[32mloaded\x1b[0m the model\n"
    serve.put(config)
    serve.wait_for(config["name"], "RUNNING")
    found = serve.until(
        lambda: {"text": replica_log(serve.api, config["name"])},
        lambda got: "loaded the model" in got["text"],
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
