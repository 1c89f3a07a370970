"""Deploying, waiting and asking, over the real services and a Ray that is quick."""

from __future__ import annotations

from typing import Any

import pytest

import roost
from roost.errors import Infeasible, InvalidName, ModelDeployFailed, ModelNotDeployed, ModelNotFound, Timeout
from roost.keys import ModelKey
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

MODEL = ("f", "s", "r")
KEY = roost.DeploymentKey(*MODEL)
APP = "f__s__r"


@pytest.fixture(autouse=True)
def _model(server: InProcessServer) -> None:
    save_ready_model(server.db, ModelKey(*MODEL), config={"a": "1", "b": "2"})


def test_it_is_recorded_or_waited_for(server: InProcessServer) -> None:
    server.ray.slow.add(APP)
    assert roost.deploy_model(*MODEL).url == "http://serve.test/r/f/s/r"
    server.ray.slow.clear()
    deployment = roost.deploy_model(*MODEL, num_replicas=2, wait=True)
    assert (deployment.phase, len(deployment.replicas)) == ("running", 2)
    assert [placed.node_name for placed in roost.model_replica_placements(KEY)] == ["node-one", "node-one"]


def test_a_call_that_changes_nothing_is_one_request_and_no_put(server: InProcessServer) -> None:
    first = roost.deploy_model(*MODEL, wait=True)
    puts = len(server.ray.puts)
    server.requests.clear()
    assert roost.deploy_model(*MODEL).version == first.version
    assert server.requests == [("PUT", "/api/deployments/f/s/r")]
    assert len(server.ray.puts) == puts


def test_a_constructor_that_raised_is_told(server: InProcessServer) -> None:
    server.ray.broken[APP] = "ValueError: no such file\nin line 3"
    roost.deploy_model(*MODEL)
    server.settle()
    with pytest.raises(ModelDeployFailed, match="ValueError: no such file") as caught:
        roost.wait_for_model_serving(KEY)
    assert caught.value.hint == "See `roost logs f/s/r`."
    assert "ValueError: no such file" in roost.model_serving_messages(KEY)
    assert roost.model_serving_status(KEY).phase == "failed"
    server.ray.broken.clear()
    roost.deploy_model(*MODEL)
    server.settle()
    assert roost.wait_for_model_serving(KEY).phase == "running"


def test_a_wait_that_is_too_long_names_what_it_waits_for(server: InProcessServer) -> None:
    server.ray.slow.add(APP)
    with pytest.raises(Timeout, match="'f/s/r' did not serve within 0 s: f/s/r is deploying"):
        roost.deploy_model(*MODEL, wait=True, timeout=0)
    with pytest.raises(TimeoutError):
        roost.wait_for_model_serving(KEY, timeout=0)


def test_it_is_looked_once_whatever_the_time_out(server: InProcessServer) -> None:
    roost.deploy_model(*MODEL)
    assert roost.wait_for_model_serving(KEY, timeout=0).phase == "running"


def test_waiting_for_what_is_not_deployed_fails(server: InProcessServer) -> None:
    with pytest.raises(ModelDeployFailed, match="'f/s/r' is not deployed"):
        roost.wait_for_model_serving(KEY)
    roost.deploy_model(*MODEL, wait=True)
    roost.undeploy_model(KEY)
    roost.undeploy_model(KEY)
    with pytest.raises(ModelDeployFailed, match="'f/s/r' is not deployed"):
        roost.wait_for_model_serving(KEY)


def test_what_never_was_deployed_is_not_deployed(server: InProcessServer) -> None:
    for ask in (
        roost.model_serving_status,
        roost.model_replica_placements,
        roost.redeploy_model,
        roost.undeploy_model,
    ):
        with pytest.raises(ModelNotDeployed, match="'f/s/r'"):
            ask(KEY)
    with pytest.raises(ModelNotFound):
        roost.deploy_model("f", "s", "other")
    assert roost.list_deployed_models() == []


def test_what_no_node_can_hold_is_refused_at_once(server: InProcessServer) -> None:
    save_ready_model(server.db, ModelKey("f", "s", "big"), requirements=roost.ModelRequirements(num_gpus=1))
    with pytest.raises(Infeasible, match="GPU"):
        roost.deploy_model("f", "s", "big")
    assert (roost.list_deployed_models(), server.ray.puts) == ([], [])


def test_the_deployments_config_lies_over_the_models(server: InProcessServer) -> None:
    plain = roost.deploy_model(*MODEL)
    other = roost.deploy_model(*MODEL, config={"b": "3"})
    assert roost.model_config(plain.key) == {"a": "1", "b": "2"}
    assert roost.model_config(other.key) == {"a": "1", "b": "3"}
    assert [str(each.key) for each in roost.list_deployed_models()] == ["f/s/r", str(other.key)]


def test_a_redeploy_takes_the_models_present_bundle(server: InProcessServer) -> None:
    first = roost.deploy_model(*MODEL, num_replicas=2, name="mine", wait=True)
    assert roost.redeploy_model(KEY).generation == first.generation
    save_ready_model(server.db, ModelKey(*MODEL), bundle="c" * 64)
    again = roost.redeploy_model(KEY)
    assert (again.generation, again.bundle_fingerprint) == (first.generation + 1, "c" * 64)
    assert (again.name, again.num_replicas) == ("mine", 2)


def test_ray_being_away_is_said_and_recorded_deploys_wait(server: InProcessServer) -> None:
    roost.deploy_model(*MODEL, wait=True)
    server.ray.away = True
    server.reconcile()
    (deployment,) = roost.list_deployed_models()
    assert (deployment.phase, deployment.stale) == ("running", True)
    waiting = roost.deploy_model(*MODEL, config={"b": "3"})
    assert waiting.phase == "not_started"
    server.ray.away = False
    server.reconcile()
    assert roost.wait_for_model_serving(waiting.key).phase == "running"


@pytest.mark.parametrize("key", ["greeter/demo/imported", None, roost.ModelKey("a", "b", "c")])
@pytest.mark.parametrize(
    "function",
    [roost.undeploy_model, roost.redeploy_model, roost.wait_for_model_serving, roost.model_serving_status],
)
def test_what_is_no_deployment_key_is_named(server: InProcessServer, function: Any, key: Any) -> None:
    with pytest.raises(InvalidName, match="is not a DeploymentKey") as caught:
        function(key)
    assert caught.value.hint == "Take it from `deployment.key`, or make it with roost.deployment_key(...)."
    assert server.requests == []


def test_the_count_that_load_begins_with_is_kept_between_its_bounds(server: InProcessServer) -> None:
    scale = {"min_replicas": 2, "max_replicas": 3}
    assert roost.deploy_model(*MODEL, autoscaling=scale).num_replicas == 2
    assert roost.deploy_model(*MODEL, num_replicas=9, autoscaling=scale).num_replicas == 3
