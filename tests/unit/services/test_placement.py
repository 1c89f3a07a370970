"""Where a replica could run, and what a deploy would do; neither writes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import roost
from roost.contracts.deployment import Deployment, DeployRequest
from roost.contracts.info import NodeInfo
from roost.contracts.placement import DeployPlan, ExplainRequest, PlacementExplanation
from roost.contracts.requirements import ModelRequirements
from roost.errors import (
    BadRequest,
    EngineUnavailable,
    Infeasible,
    InvalidName,
    ModelNotDeployed,
    ModelNotFound,
    NameTaken,
)
from roost.keys import DeploymentKey, ModelKey
from roost.records.deployments import find_deployment
from roost.serving.placement import actor_options
from roost.testing.gpu_nodes import gpu_node
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

MODEL = ModelKey("det", "ssd", "run1")
KEY = DeploymentKey("det", "ssd", "run1")
APP = "det__ssd__run1"
CARD_8 = ModelRequirements(num_gpus=1, vram_gb=8)
N12 = gpu_node("12", cards=1, card_mib=12288)
N24 = gpu_node("24", cards=1, card_mib=24576)


class Room:
    """A server, with nodes and replicas as a test wants them."""

    def __init__(self, server: InProcessServer) -> None:
        self.server = server
        self.nodes(N12, N24)

    def nodes(self, *nodes: NodeInfo) -> None:
        self.server.ray.nodes = list(nodes)
        self.server.clock.advance(10)  # those seen before are stale

    def save(self, model: ModelKey = MODEL, **fields: Any) -> None:
        save_ready_model(self.server.db, model, **fields)

    def deploy(self, model: ModelKey = MODEL, **request: Any) -> Deployment:
        self.server.deployments.deploy(model, DeployRequest(**request))
        self.server.settle()
        return self.server.deployments.get(DeploymentKey(model.family, model.suffix, model.run_name))

    def plan(self, model: ModelKey = MODEL, **request: Any) -> DeployPlan:
        return self.server.placement.plan(model, DeployRequest(**request))

    def explain(self, key: str | None = None, needs: ModelRequirements | None = None) -> PlacementExplanation:
        return self.server.placement.explain(ExplainRequest(key=key, requirements=needs))

    def observe(self, **columns: Any) -> None:
        with self.server.db.write() as session:
            row = find_deployment(session, KEY)
            assert row is not None
            for name, value in columns.items():
                setattr(row, name, value)

    def options(self) -> dict[str, Any]:
        with self.server.db.read() as session:
            row = find_deployment(session, KEY)
            assert row is not None
            options: dict[str, Any] = row.application["deployments"][0]["ray_actor_options"]
            return options

    def records(self) -> list[Any]:
        """Every row of every table that callers' wishes reach."""
        with self.server.db.engine.connect() as connection:
            tables = ("deployments", "models", "events")
            return [connection.execute(text(f"SELECT * FROM {name}")).all() for name in tables]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    server = InProcessServer(tmp_path)
    yield Room(server)
    server.close()


def replica(name: str, node: NodeInfo, state: str = "RUNNING") -> dict[str, Any]:
    return {
        "replica_id": name,
        "state": state,
        "node_id": node.node_id,
        "node_ip": node.ip,
        "outdated": False,
    }


def paths(plan: DeployPlan) -> dict[str, tuple[Any, Any]]:
    return {change.path: (change.old, change.new) for change in plan.spec}


class TestExplain:
    @pytest.mark.parametrize(
        "requirements",
        [
            ModelRequirements(),
            ModelRequirements(ram_gb=2),
            ModelRequirements(num_gpus=0.25, vram_gb=8),
            ModelRequirements(num_gpus=1, vram_gb=20),
        ],
    )
    def test_what_it_tells_is_what_the_spec_asks_for(
        self, room: Room, requirements: ModelRequirements
    ) -> None:
        room.save(requirements=requirements)
        before = room.explain(str(KEY))
        room.deploy()
        after = room.explain(str(KEY))
        (put,) = [app for app in room.server.ray.puts[-1]["applications"] if app["name"] == APP]
        asked = put["deployments"][0]["ray_actor_options"]
        assert before.actor_options == after.actor_options == asked
        assert room.explain(needs=requirements).actor_options == asked
        assert (before.deployed, after.deployed) == (False, True)
        assert before.key == after.key == "det/ssd/run1"

    def test_a_deployment_is_told_as_it_was_placed(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        room.nodes(N24)
        room.deploy()
        room.nodes(N12, N24)
        found = room.explain(str(KEY))
        assert found.tiers == [24576]
        assert [(node.name, node.fits) for node in found.nodes] == [("24", True), ("12", False)]
        assert room.explain(needs=CARD_8).tiers == [12288, 24576]

    def test_an_undeployed_one_is_told_as_its_model(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.save(requirements=CARD_8)
        room.server.deployments.undeploy(KEY)
        found = room.explain(str(KEY))
        assert (found.deployed, found.requirements) == (False, CARD_8)

    def test_the_infeasible_is_explained_not_refused(self, room: Room) -> None:
        found = room.explain(needs=ModelRequirements(num_gpus=1, vram_gb=40))
        assert [(node.name, node.could_fit) for node in found.nodes] == [("12", False), ("24", False)]

    def test_keys_that_name_nothing(self, room: Room) -> None:
        with pytest.raises(ModelNotFound, match="'det/ssd/run1'"):
            room.explain("det/ssd/run1")
        room.save()
        with pytest.raises(ModelNotDeployed, match="'det/ssd/run1@a32291675798' is not deployed"):
            room.explain("det/ssd/run1@a32291675798")
        with pytest.raises(InvalidName):
            room.explain("det/ssd")

    @pytest.mark.parametrize(("key", "needs"), [(None, None), ("a/b/c", CARD_8)])
    def test_one_thing_is_explained(
        self, room: Room, key: str | None, needs: ModelRequirements | None
    ) -> None:
        with pytest.raises(BadRequest, match="either a key or requirements"):
            room.explain(key, needs)

    def test_without_ray_no_node_is_known(self, room: Room) -> None:
        room.server.ray.away = True
        with pytest.raises(EngineUnavailable, match="does not tell its nodes"):
            room.explain(needs=CARD_8)


class TestPlan:
    def test_nothing_is_written(self, room: Room) -> None:
        room.save()
        first = room.deploy()
        room.save(bundle="c" * 64, requirements=CARD_8)
        before, version, puts = room.records(), room.server.changes.version, len(room.server.ray.puts)
        plan = room.plan(num_replicas=3, name="other", pinned=True)
        assert plan.changes
        room.server.settle()
        assert room.records() == before
        assert (room.server.changes.version, len(room.server.ray.puts)) == (version, puts)
        assert room.server.deployments.get(KEY).version == first.version

    def test_a_deploy_that_changes_nothing(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.server.ray.away = True  # nor is Ray asked
        plan = room.plan()
        assert (plan.changes, plan.action, plan.spec, plan.restarts) == (False, "none", [], [])
        assert plan.message == "Nothing would change."

    def test_a_first_deploy(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        plan = room.plan(num_replicas=3, name="mine")
        assert (plan.key, plan.name, plan.changes, plan.action) == ("det/ssd/run1", "mine", True, "deploy")
        assert plan.side_by_side is None
        assert [(new.node_name, new.waits_for) for new in plan.new_replicas] == [
            ("12", []),
            ("24", []),
            (None, ["12", "24"]),
        ]
        assert plan.message == (
            "It would be deployed as 'mine'. 1 replica would start on '12', 1 replica would start on '24', "
            "1 replica would wait for room on '12' or '24'. Waits for room: one replica needs 0.1 CPUs, "
            "1 GPUs, 8192 MiB of GPU memory; no node has it free (largest: '24' with 15.9 CPUs, 0 GPUs, "
            "16384 MiB of GPU memory)."
        )
        assert (plan.pauses, plan.takes_name_from) == ([], None)
        assert plan.waiting.startswith("Waits for room: one replica needs 0.1 CPUs, 1 GPUs, ")
        told = paths(plan)
        assert told["name"] == (None, "mine")
        assert told["deployments.App.ray_actor_options.label_selector.vram_mib"] == (None, "12288")
        assert told["args.servable.bundleFingerprint"] == (None, "b" * 64)

    def test_more_replicas_restart_none(self, room: Room) -> None:
        room.save()
        room.deploy()
        plan = room.plan(num_replicas=3)
        scale = "deployments.App.autoscaling_config"
        assert paths(plan) == {
            f"{scale}.min_replicas": (1, 3),
            f"{scale}.max_replicas": (1, 3),
            f"{scale}.initial_replicas": (1, 3),
            "num_replicas": (1, 3),
        }
        assert (plan.action, plan.restarts, plan.reasons) == ("update", [], [])
        assert plan.message == "No running replica would restart. 2 replicas would start on '12'."

    def test_fewer_replicas(self, room: Room) -> None:
        room.save()
        room.deploy(num_replicas=3)
        plan = room.plan()
        assert (plan.restarts, plan.new_replicas) == ([], [])
        assert plan.message == "No replica would restart; 2 replicas would stop."

    def test_what_ray_is_not_told_of(self, room: Room) -> None:
        room.save()
        room.deploy()
        plan = room.plan(name="other", pinned=True, idle_timeout_s=60, rollout="in_place")
        assert paths(plan) == {
            "name": ("det/ssd", "other"),
            "rollout": ("wait", "in_place"),
            "pinned": (False, True),
            "idle_timeout_s": (None, 60.0),
        }
        assert (plan.action, plan.message) == ("update", "No replica would restart.")

    def test_scaling_by_load(self, room: Room) -> None:
        room.save()
        room.deploy(num_replicas=2)
        plan = room.plan(num_replicas=2, autoscaling={"min_replicas": 1, "max_replicas": 4})
        told = paths(plan)
        assert told["deployments.App.autoscaling_config.max_replicas"] == (2, 4)
        assert "deployments.App.autoscaling_config.initial_replicas" not in told
        assert told["autoscaling.max_replicas"] == (None, 4)
        assert (plan.restarts, plan.new_replicas) == ([], [])

    def test_new_code_restarts_all_and_says_why(self, room: Room) -> None:
        room.save()
        room.deploy(num_replicas=2)
        room.save(bundle="c" * 64)
        room.observe(replicas=[replica("r1", N12), replica("r2", N24), replica("old", N24, "STOPPING")])
        plan = room.plan(num_replicas=2)
        assert (plan.action, plan.reasons, plan.side_by_side) == ("restart", ["code"], True)
        assert [(one.replica_id, one.node_name) for one in plan.restarts] == [("r1", "12"), ("r2", "24")]
        assert paths(plan) == {"args.servable.bundleFingerprint": ("b" * 64, "c" * 64)}
        assert plan.message == (
            "2 replicas would be replaced: code. 2 replicas would start on '12'. "
            "Old and new fit beside each other: the old ones serve until the new ones run."
        )

    def test_each_reason_is_named(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.save(bundle="c" * 64, config={"a": "1"}, requirements=ModelRequirements(ram_gb=1))
        plan = room.plan()
        assert plan.reasons == ["requirements", "code", "config"]
        assert paths(plan)["deployments.App.ray_actor_options.memory"] == (None, 1024**3)
        assert paths(plan)["args.config.a"] == (None, "1")

    @pytest.mark.parametrize(
        ("rollout", "node_name", "ending"),
        [
            ("wait", None, "the old ones would serve until there is room (wait)."),
            ("in_place", "12", "the old ones would stop first (in_place), with a gap."),
        ],
    )
    def test_without_room_for_both_the_rollout_decides(
        self, room: Room, rollout: str, node_name: str | None, ending: str
    ) -> None:
        room.save(requirements=CARD_8)
        room.nodes(N12)
        room.deploy(rollout=rollout)
        room.observe(replicas=[replica("r1", N12)])
        room.nodes(gpu_node("12", cards=1, card_mib=12288, shares=(1.0,), vram_mib=8192.0, CPU=0.1))
        room.save(bundle="c" * 64, requirements=CARD_8)
        plan = room.plan(rollout=rollout)
        assert plan.side_by_side is False
        (new,) = plan.new_replicas
        assert (new.node_name, new.waits_for) == (node_name, [] if node_name else ["12"])
        assert plan.message.endswith(f"Old and new do not fit beside each other: {ending}")

    def test_a_failed_deployment_is_started_afresh(self, room: Room) -> None:
        room.save()
        room.server.ray.broken[APP] = "ValueError"
        room.deploy()
        plan = room.plan()
        assert (plan.changes, plan.action, plan.reasons, plan.restarts) == (True, "retry", ["failed"], [])
        assert plan.message == "It would be started afresh. 1 replica would start on '12'."

    def test_a_failed_update_is_tried_again_beside_the_old_replicas(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.observe(phase="failed", replicas=[replica("r1", N12)])
        plan = room.plan()
        assert (plan.action, plan.reasons) == ("retry", ["failed"])
        assert [one.replica_id for one in plan.restarts] == ["r1"]
        assert paths(plan) == {"args.restarts": (None, 1)}

    def test_a_paused_deployment_would_be_woken_by_a_change(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.observe(phase="paused", pause="paused", replicas=[])
        assert not room.plan().changes
        plan = room.plan(pinned=True)
        assert [new.node_name for new in plan.new_replicas] == ["12"]

    def test_while_ray_is_away_the_nodes_are_left_open(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        room.server.ray.away = True
        plan = room.plan()
        assert (plan.action, plan.new_replicas) == ("deploy", [])
        assert plan.message == "It would be deployed as 'det/ssd'. 1 replica would start once Ray answers."

    def test_errors_are_those_of_deploy(self, room: Room) -> None:
        with pytest.raises(ModelNotFound):
            room.plan()
        room.save(requirements=ModelRequirements(num_gpus=1, vram_gb=40))
        with pytest.raises(Infeasible, match=r"no node has 40960 MiB of GPU memory on one card"):
            room.plan()
        other = ModelKey("det", "ssd", "run2")
        room.save(other)
        room.deploy(other)
        room.save()
        with pytest.raises(NameTaken, match="'det/ssd/run2'"):
            room.plan()
        plan = room.plan(take_name=True)
        assert (plan.name, plan.takes_name_from) == ("det/ssd", "det/ssd/run2")
        assert "'det/ssd/run2' would lose the name 'det/ssd' and go on under its key." in plan.message
        with pytest.raises(InvalidName):
            room.plan(name="a__b")

    def test_it_takes_the_arguments_of_a_deploy(self) -> None:
        planned, deployed = inspect.signature(roost.plan_deploy), inspect.signature(roost.deploy_model)
        assert list(planned.parameters.values()) == list(deployed.parameters.values())


class TestWhoIsPaused:
    """A full card of 12 GiB, held by `other`."""

    @pytest.fixture(autouse=True)
    def _held(self, room: Room) -> None:
        room.nodes(N12)
        other = ModelKey("det", "ssd", "other")
        room.save(other, requirements=CARD_8)
        room.deploy(other, name="other")
        self.other = DeploymentKey("det", "ssd", "other")
        with room.server.db.write() as session:
            row = find_deployment(session, self.other)
            assert row is not None
            row.replicas = [replica("o1", N12)]
        room.nodes(gpu_node("12", cards=1, card_mib=12288, shares=(1.0,), vram_mib=8192.0, CPU=0.1))
        room.save(requirements=CARD_8)

    def test_the_idle_one(self, room: Room) -> None:
        before = room.records()
        plan = room.plan()
        assert (plan.pauses, plan.waiting) == (["det/ssd/other"], "")
        assert plan.message == (
            "It would be deployed as 'det/ssd'. 1 replica would wait for room on '12'. "
            "For that 'det/ssd/other' would be paused, once idle."
        )
        assert room.records() == before

    def test_not_a_pinned_one(self, room: Room) -> None:
        with room.server.db.write() as session:
            row = find_deployment(session, self.other)
            assert row is not None
            row.pinned = True
        plan = room.plan()
        assert plan.pauses == []
        assert plan.waiting.endswith("Pausing idle models would not make room: 'det/ssd/other' is pinned.")
        assert plan.waiting in plan.message

    def test_no_more_than_there_are(self, room: Room) -> None:
        """One of two replicas gets the room of the other model, one waits on."""
        plan = room.plan(num_replicas=2)
        assert plan.pauses == ["det/ssd/other"]
        assert plan.waiting.startswith("Waits for room: one replica needs")
        assert "For that 'det/ssd/other' would be paused, once idle. Waits for room: " in plan.message

    def test_room_that_is_on_its_way(self, room: Room) -> None:
        with room.server.db.write() as session:
            row = find_deployment(session, self.other)
            assert row is not None
            row.replicas = [replica("o1", N12, "STOPPING")]
        plan = room.plan()
        assert plan.pauses == []
        assert plan.waiting.endswith("it is being made on '12'.")

    def test_a_record_that_cannot_be_read_is_left_out(self, room: Room) -> None:
        with room.server.db.write() as session:
            row = find_deployment(session, self.other)
            assert row is not None
            row.application = {}
        assert room.plan().pauses == []


class TestTiers:
    def test_a_redeploy_of_the_same_asks_nobody_when_another_size_joins(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        room.nodes(N24)
        room.deploy()
        before = room.options()
        room.nodes(N12, N24)
        room.server.ray.away = True
        room.server.deployments.deploy(MODEL, DeployRequest())
        room.server.deployments.deploy(MODEL, DeployRequest(num_replicas=2))
        assert room.options() == before == actor_options(CARD_8, 0.1, [N24])

    def test_a_deploy_that_restarts_replicas_takes_the_sizes_there_are(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        room.nodes(N24)
        room.deploy()
        room.nodes(N12, N24)
        room.save(requirements=CARD_8, bundle="c" * 64)
        assert room.plan().reasons == ["code"]
        room.deploy()
        assert room.options() == actor_options(CARD_8, 0.1, [N12, N24])

    def test_what_was_deployed_while_ray_was_away_is_placed_once_its_nodes_are_known(
        self, room: Room
    ) -> None:
        room.save(requirements=CARD_8)
        room.server.ray.away = True
        room.server.deployments.deploy(MODEL, DeployRequest())
        assert room.options() == actor_options(CARD_8, 0.1)
        room.server.ray.away = False
        room.server.settle()
        assert room.options() == actor_options(CARD_8, 0.1, [N12, N24])
        deployment = room.server.deployments.get(KEY)
        assert (deployment.phase, deployment.generation, deployment.observed_generation) == ("running", 2, 2)
        (put,) = room.server.ray.puts[-1]["applications"]
        assert put["deployments"][0]["ray_actor_options"] == room.options()

    def test_it_is_placed_when_its_node_joins(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        room.server.ray.away = True
        room.server.ray.slow.add(APP)
        room.server.deployments.deploy(MODEL, DeployRequest())
        room.nodes(gpu_node("head"))
        room.server.ray.away = False
        room.server.settle()
        assert room.options() == actor_options(CARD_8, 0.1)
        room.nodes(gpu_node("head"), N12)
        room.server.settle()
        assert room.options() == actor_options(CARD_8, 0.1, [N12])

    @pytest.mark.parametrize(
        "broken", [{"application": {}}, {"application": {"deployments": [None]}}, {"requirements": {"x": 1}}]
    )
    def test_a_record_that_cannot_be_read_keeps_no_other_from_its_place(
        self, room: Room, broken: dict[str, Any]
    ) -> None:
        other = ModelKey("det", "ssd", "run2")
        room.save(requirements=CARD_8)
        room.save(other, requirements=CARD_8)
        room.server.ray.away = True
        room.server.deployments.deploy(other, DeployRequest(name="other"))
        room.server.deployments.deploy(MODEL, DeployRequest())
        with room.server.db.write() as session:
            row = find_deployment(session, DeploymentKey("det", "ssd", "run2"))
            assert row is not None
            for name, value in broken.items():
                setattr(row, name, value)
        room.server.ray.away = False
        room.server.settle()
        assert room.options() == actor_options(CARD_8, 0.1, [N12, N24])
        assert room.server.deployments.place_waiting()

    def test_what_serves_already_is_left_where_it_is(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        room.server.ray.away = True
        room.server.deployments.deploy(MODEL, DeployRequest())
        room.observe(replicas=[replica("r1", N12)])
        room.server.ray.away = False
        room.server.settle()
        assert room.options() == actor_options(CARD_8, 0.1)

    def test_one_that_failed_is_placed_anew(self, room: Room) -> None:
        room.save(requirements=CARD_8)
        room.nodes(N24)
        room.deploy()
        room.observe(phase="failed", replicas=[])
        room.nodes(N12)
        room.deploy()
        assert room.options() == actor_options(CARD_8, 0.1, [N12])
        with room.server.db.read() as session:
            row = find_deployment(session, KEY)
            assert row is not None
            assert row.requirements == asdict(CARD_8)
