"""Asking where a replica could run and what a deploy would do."""

from __future__ import annotations

import pytest

import roost
from roost.errors import Infeasible, ModelNotDeployed, ValidationFailed
from roost.keys import ModelKey
from roost.testing.gpu_nodes import gpu_node
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

MODEL = ("f", "s", "r")
KEY = roost.DeploymentKey(*MODEL)
NEEDS = roost.ModelRequirements(num_gpus=0.5, vram_gb=8, ram_gb=4)


@pytest.fixture(autouse=True)
def _cluster(server: InProcessServer) -> None:
    save_ready_model(server.db, ModelKey(*MODEL), requirements=NEEDS)
    server.ray.nodes = [gpu_node("12", cards=1, card_mib=12288), gpu_node("cpu")]


def test_a_key_and_its_requirements_are_explained_alike(server: InProcessServer) -> None:
    by_needs = roost.explain_placement(NEEDS)
    assert by_needs.actor_options == {
        "num_cpus": 0.1,
        "num_gpus": 0.6667,
        "memory": 4 * 1024**3,
        "resources": {"vram_mib": 8192},
        "label_selector": {"vram_mib": "12288"},
    }
    assert [(node.name, node.fits, node.reason) for node in by_needs.nodes] == [
        ("12", True, ""),
        ("cpu", False, "It has no label vram_mib."),
    ]
    for key in (KEY, ModelKey(*MODEL)):
        assert roost.explain_placement(key).model_copy(update={"key": None}) == by_needs
    roost.deploy_model(*MODEL)
    assert roost.explain_placement(KEY).deployed
    (put,) = server.ray.puts[-1]["applications"]
    assert put["deployments"][0]["ray_actor_options"] == by_needs.actor_options


def test_a_key_that_names_nothing() -> None:
    with pytest.raises(ModelNotDeployed):
        roost.explain_placement(roost.deployment_key(*MODEL, {"a": "1"}))


def test_a_plan_is_one_request_and_writes_nothing(server: InProcessServer) -> None:
    server.requests.clear()
    plan = roost.plan_deploy(*MODEL, 2, True, 1.0, name="mine", autoscaling={"max_replicas": 3})
    assert server.requests == [("POST", "/api/placement/plan/f/s/r")]
    assert (plan.action, plan.name, [new.node_name for new in plan.new_replicas]) == (
        "deploy",
        "mine",
        ["12", None],
    )
    assert roost.list_deployed_models() == []
    assert server.ray.puts == []


def test_a_plan_refuses_what_a_deploy_refuses(server: InProcessServer) -> None:
    with pytest.raises(ValidationFailed, match="num_replicas=0"):
        roost.plan_deploy(*MODEL, num_replicas=0)
    save_ready_model(server.db, ModelKey(*MODEL), requirements=roost.ModelRequirements(num_gpus=2))
    with pytest.raises(Infeasible, match=r"no node has 2 GPUs; largest 1 \('12'\)"):
        roost.plan_deploy(*MODEL)
