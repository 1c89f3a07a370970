"""How applications move, held against the fake and against a real cluster."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from roost.engine.nodes import list_nodes
from roost.serving.scale import asleep, fixed

if TYPE_CHECKING:
    from tests.contract.conftest import Subject


def scaled(config: dict[str, Any], scale: dict[str, Any]) -> dict[str, Any]:
    return {**config, "deployments": [{**config["deployments"][0], "autoscaling_config": scale}]}


def states(app: dict[str, Any]) -> list[str]:
    """The states of its replicas, sorted; `STARTING` without a node is `waiting`."""
    parts = (app.get("deployments") or {}).values()
    replicas = [replica for part in parts for replica in part["replicas"]]
    return sorted(
        "waiting" if replica["state"] == "STARTING" and not replica.get("node_id") else str(replica["state"])
        for replica in replicas
    )


def ids(app: dict[str, Any]) -> list[str]:
    return sorted(replica["replica_id"] for replica in app["deployments"]["App"]["replicas"])


def target(app: dict[str, Any]) -> int | None:
    part = (app.get("deployments") or {}).get("App")
    return None if part is None else part["target_num_replicas"]


def test_an_application_comes_up_and_its_config_is_told_back_exactly(serve: Subject) -> None:
    config = serve.an_app()
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
    first, second = serve.an_app(), serve.an_app()
    serve.put(first, second)
    serve.wait_for(first["name"], "RUNNING")
    before = serve.wait_for(second["name"], "RUNNING")
    serve.put(second)
    seen = serve.apps()
    # The one that did not change shows DEPLOYING, too, until the controller's next turn.
    assert seen[second["name"]]["status"] in ("DEPLOYING", "RUNNING")
    assert seen[second["name"]]["deployments"] == before["deployments"]
    leaving = seen[first["name"]]
    assert (leaving["status"], leaving.get("deployed_app_config")) == ("DELETING", None)
    assert not leaving.get("deployments")
    serve.wait_for(first["name"], None)
    after = serve.wait_for(second["name"], "RUNNING")
    assert after["deployments"] == before["deployments"]


def test_scaling_up_and_down_keeps_the_first_replica(serve: Subject) -> None:
    config = serve.an_app()
    serve.put(config)
    before = serve.wait_for(config["name"], "RUNNING")
    serve.put(scaled(config, fixed(2)))
    # Right after the PUT the target is still that of before.
    assert target(serve.apps()[config["name"]]) in (1, 2)
    app = serve.wait(config["name"], lambda app: states(app) == ["RUNNING", "RUNNING"])
    assert (target(app), set(ids(app)) > set(ids(before))) == (2, True)
    serve.step(config["name"])
    serve.put(config)
    app = serve.wait(config["name"], lambda app: states(app) == ["RUNNING", "STOPPING"])
    assert (app["status"], target(app)) == ("DEPLOYING", 1)
    serve.step(config["name"], "finish")
    app = serve.wait_for(config["name"], "RUNNING")
    assert app["deployments"]["App"]["replicas"] == before["deployments"]["App"]["replicas"]


def test_a_request_wakes_an_application_without_replicas(serve: Subject) -> None:
    config = serve.an_app()
    serve.put(config)
    serve.wait_for(config["name"], "RUNNING")
    serve.put(scaled(config, asleep()))
    app = serve.wait(config["name"], lambda app: app["status"] == "RUNNING" and states(app) == [])
    assert (target(app), app["deployments"]["App"]["status"]) == (0, "HEALTHY")
    request = serve.ask(config)
    app = serve.wait(config["name"], lambda app: target(app) == 1)
    assert app["status"] == "RUNNING"
    app = serve.wait(config["name"], lambda app: states(app) in (["waiting"], ["STARTING"]))
    woken = ids(app)
    serve.put(config)
    serve.wait(config["name"], lambda app: app["status"] == "DEPLOYING")
    serve.step(config["name"], "finish")
    app = serve.wait_for(config["name"], "RUNNING")
    assert (ids(app), target(app), states(app)) == (woken, 1, ["RUNNING"])
    request.join(serve.patience_s)
    assert not request.is_alive()


def test_an_update_serves_the_old_version_until_the_new_one_runs(serve: Subject) -> None:
    config = serve.an_app()
    serve.put(config)
    old = ids(serve.wait_for(config["name"], "RUNNING"))
    serve.step(config["name"])
    serve.put({**config, "import_path": "contract_apps:better"})
    serve.wait(config["name"], lambda app: app["status"] == "DEPLOYING" and not app.get("deployments"))
    serve.step(config["name"], "build")
    app = serve.wait(config["name"], lambda app: states(app) == ["RUNNING", "waiting"])
    assert (app["status"], app["deployments"]["App"]["status"]) == ("DEPLOYING", "UPDATING")
    assert target(app) == 1
    serve.step(config["name"], "run")
    app = serve.wait(config["name"], lambda app: states(app) == ["RUNNING", "STOPPING"])
    assert app["status"] == "DEPLOYING"
    serve.step(config["name"], "finish")
    app = serve.wait_for(config["name"], "RUNNING")
    assert (states(app), ids(app) == old) == (["RUNNING"], False)


def test_a_failed_update_leaves_the_old_version_and_going_back_restarts_nothing(serve: Subject) -> None:
    config = serve.an_app()
    serve.put(config)
    before = serve.wait_for(config["name"], "RUNNING")
    serve.put({**config, "import_path": "contract_apps:broken"})
    failed = serve.wait(
        config["name"], lambda app: app["status"] == "DEPLOY_FAILED" and states(app) == ["RUNNING"]
    )
    assert ids(failed) == ids(before)
    assert failed["message"] == "Failed to update the deployments ['App']."
    assert "no such luck" in failed["deployments"]["App"]["message"]
    serve.put(config)
    app = serve.wait_for(config["name"], "RUNNING")
    assert app["deployments"]["App"]["replicas"] == before["deployments"]["App"]["replicas"]


def test_a_replica_without_room_waits_without_a_node(serve: Subject) -> None:
    config = serve.an_app(num_cpus=64)
    serve.step(config["name"])
    serve.put(config)
    serve.wait_for(config["name"], "DEPLOYING")
    serve.step(config["name"], "build")
    app = serve.wait(config["name"], lambda app: states(app) == ["waiting"])
    assert (app["status"], target(app), app["deployments"]["App"]["message"]) == ("DEPLOYING", 1, "")


def test_code_that_cannot_be_loaded_is_told_by_the_application(serve: Subject) -> None:
    config = serve.an_app("contract_apps:absent")
    serve.step(config["name"])
    serve.put(config)
    if serve.fake is not None:
        serve.fake.fail_build(config["name"], "AttributeError: module has no attribute 'absent'")
    app = serve.wait_for(config["name"], "DEPLOY_FAILED")
    assert "'absent'" in app["message"]
    assert not app.get("deployments")


def test_an_application_whose_replica_dies_is_unhealthy_until_another_runs(serve: Subject) -> None:
    config = serve.an_app()
    serve.put(config)
    before = serve.wait_for(config["name"], "RUNNING")
    if serve.fake is None:
        os.kill(before["deployments"]["App"]["replicas"][0]["pid"], signal.SIGKILL)
    serve.step(config["name"], *([] if serve.fake is None else ["crash"]))
    app = serve.wait_for(config["name"], "UNHEALTHY")
    assert (app["deployments"]["App"]["status"], target(app)) == ("UNHEALTHY", 1)
    serve.step(config["name"], "finish")
    app = serve.wait_for(config["name"], "RUNNING")
    assert (states(app), ids(app) == ids(before)) == (["RUNNING"], False)


def test_a_constructor_that_raises_is_told_by_its_deployment(serve: Subject) -> None:
    config = serve.an_app("contract_apps:broken")
    serve.put(config)
    app = serve.wait_for(config["name"], "DEPLOY_FAILED")
    assert "no such luck" in app["deployments"]["App"]["message"]
    serve.put(config)
    assert serve.apps()[config["name"]]["status"] in ("DEPLOY_FAILED", "DEPLOYING")
