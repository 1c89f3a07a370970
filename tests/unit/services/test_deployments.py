"""What callers want of deployments, as it is written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from roost.contracts.deployment import Deployment, DeployRequest
from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import (
    EngineUnavailable,
    Infeasible,
    InvalidConfig,
    InvalidName,
    ModelNotDeployed,
    ModelNotFound,
    ModelNotReady,
    NameTaken,
)
from roost.keys import DeploymentKey, ModelKey
from roost.records.database import Database
from roost.records.deployments import find_deployment, list_of_model
from roost.records.models import ModelRow
from roost.services.changes import Changes
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.models import Models
from roost.serving.scale import fixed
from roost.serving.settings import ServeSettings
from roost.testing.fake_clock import EPOCH, FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

MODEL = ModelKey("det", "ssd", "run1")
KEY = DeploymentKey("det", "ssd", "run1")
NODE = NodeInfo(node_id="n1", name="node-one", ip="10.0.0.1", alive=True, resources={"CPU": 2.0})


@dataclass
class Room:
    """The service, and what it does to its surroundings."""

    db: Database
    clock: FakeClock = field(default_factory=FakeClock)
    changes: Changes = field(default_factory=Changes)
    wakes: int = 0
    asked_for_nodes: int = 0
    ray_is_away: bool = False

    def __post_init__(self) -> None:
        self.view = EngineView(self._nodes, self._log, monotonic=lambda: self.clock.now().timestamp())
        settings = ServeSettings(serve_url="http://serve:8000", storage_url="file:///s")
        models = Models(self.db, MemoryStore(), self.clock)
        self.service = Deployments(
            self.db, models, self.view, settings, self.changes, self.clock, wake=self._wake
        )

    def save(self, model: ModelKey = MODEL, **fields: Any) -> None:
        save_ready_model(self.db, model, **fields)

    def deploy(self, model: ModelKey = MODEL, **request: Any) -> Deployment:
        return self.service.deploy(model, DeployRequest(**request))

    def observe(self, **columns: Any) -> None:
        with self.db.write() as session:
            row = find_deployment(session, KEY)
            assert row is not None
            for name, value in columns.items():
                setattr(row, name, value)

    def column(self, name: str) -> Any:
        with self.db.read() as session:
            return getattr(find_deployment(session, KEY), name)

    def _wake(self) -> None:
        self.wakes += 1

    def _nodes(self) -> list[NodeInfo]:
        self.asked_for_nodes += 1
        if self.ray_is_away:
            raise EngineUnavailable("Ray does not answer.")
        return [NODE]

    def _log(self, app_name: str, tail: int) -> str:
        return f"last {tail} lines of {app_name}"


@pytest.fixture
def room(database: Database) -> Room:
    return Room(database)


RUNNING = {"replica_id": "r1", "state": "RUNNING", "node_id": "n1", "node_ip": "10.0.0.1", "outdated": False}


class TestDeploy:
    def test_it_is_recorded_and_the_reconciler_woken(self, room: Room) -> None:
        room.save()
        assert room.deploy() == Deployment(
            family="det",
            suffix="ssd",
            run_name="run1",
            config_fingerprint="",
            name="det/ssd",
            config={},
            url="http://serve:8000/r/det/ssd/run1",
            phase="not_started",
            bundle_fingerprint="b" * 64,
            num_replicas=1,
            capability="detection",
            generation=1,
            observed_generation=0,
            version=1,
            used_at=EPOCH,
        )
        assert (room.wakes, room.changes.version) == (1, 1)

    def test_a_config_makes_another_deployment_of_the_same_model(self, room: Room) -> None:
        room.save(config={"a": "1", "thinking": "true"})
        room.deploy()
        second = room.deploy(config={"thinking": "false"})
        assert second.name == "det/ssd@a32291675798"
        assert second.url == "http://serve:8000/r/det/ssd/run1/a32291675798"
        assert [item.name for item in room.service.list().items] == ["det/ssd", "det/ssd@a32291675798"]
        with room.db.read() as session:
            row = find_deployment(session, second.key)
            assert row is not None
            assert row.application["args"]["config"] == {"a": "1", "thinking": "false"}
            assert [row.key for row in list_of_model(session, MODEL)] == [str(KEY), str(second.key)]

    def test_a_redeploy_that_changes_nothing_writes_nothing_and_asks_nobody(self, room: Room) -> None:
        room.save()
        first = room.deploy(name="mine")
        asked = room.asked_for_nodes
        room.clock.advance(60)
        assert room.deploy() == first
        assert room.deploy(name="mine") == first
        assert room.service.redeploy(KEY) == first
        assert (room.wakes, room.changes.version, room.asked_for_nodes) == (1, 1, asked)

    def test_the_number_of_replicas_changes_the_overrides_only(self, room: Room) -> None:
        room.save()
        room.deploy()
        before = room.column("application")
        asked = room.asked_for_nodes
        scaled = room.deploy(num_replicas=3)
        after = room.column("application")
        assert (scaled.num_replicas, scaled.generation, scaled.phase) == (3, 2, "deploying")
        assert {**after, "deployments": before["deployments"]} == before
        assert after["deployments"] == [{**before["deployments"][0], "autoscaling_config": fixed(3)}]
        assert room.asked_for_nodes == asked

    def test_a_deployment_keeps_its_snapshot_while_the_model_changes(self, room: Room) -> None:
        room.save()
        room.deploy()
        before = room.column("application")
        room.save(bundle="c" * 64, requirements=ModelRequirements(ram_gb=1), config={"new": "1"})
        assert room.column("application") == before
        assert room.service.get(KEY).bundle_fingerprint == "b" * 64

    def test_the_version_that_still_serves_is_named_until_it_is_replaced(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.observe(phase="running", replicas=[RUNNING])
        room.save(bundle="c" * 64)
        updated = room.service.redeploy(KEY)
        assert (updated.bundle_fingerprint, updated.replaced_bundle_fingerprint) == ("c" * 64, "b" * 64)
        assert updated.phase == "deploying"
        room.save(bundle="d" * 64)
        assert room.deploy().replaced_bundle_fingerprint == "b" * 64
        room.save(bundle="b" * 64)
        assert room.deploy().replaced_bundle_fingerprint == ""

    def test_a_failed_deployment_is_started_from_scratch(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.observe(phase="failed", failures=3, message="ValueError")
        again = room.deploy()
        assert (again.phase, again.message, again.generation) == ("deploying", "", 2)
        assert (room.column("step"), room.column("failures"), room.column("restarts")) == ("clear", 0, 0)

    def test_a_failed_update_is_tried_again_beside_the_old_replicas(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.observe(phase="failed", failures=3, replicas=[RUNNING])
        room.deploy()
        assert (room.column("step"), room.column("failures"), room.column("restarts")) == ("apply", 0, 1)

    def test_an_unknown_model(self, room: Room) -> None:
        with pytest.raises(ModelNotFound, match="'det/ssd/run1'"):
            room.deploy()

    def test_a_model_without_a_finished_upload(self, room: Room) -> None:
        with room.db.write() as session:
            row = ModelRow(family="det", suffix="ssd", run_name="run1", created_at=EPOCH, failure="disk full")
            session.add(row)
        with pytest.raises(ModelNotReady, match="upload_failed: disk full"):
            room.deploy()
        assert room.service.find(KEY) is None

    @pytest.mark.parametrize("config", [{"": "x"}, {" ": "x"}])
    def test_a_bad_config(self, room: Room, config: dict[str, str]) -> None:
        room.save()
        with pytest.raises(InvalidConfig):
            room.deploy(config=config)


class TestFeasibility:
    def test_the_infeasible_is_refused_at_once_and_not_written(self, room: Room) -> None:
        room.save(requirements=ModelRequirements(num_gpus=1))
        with pytest.raises(Infeasible, match=r"no node has 1 GPU; largest 0 \('node-one'\)"):
            room.deploy()
        assert room.service.find(KEY) is None
        assert room.wakes == 0

    def test_an_update_to_the_infeasible_leaves_the_deployment(self, room: Room) -> None:
        room.save()
        before = room.deploy()
        room.save(requirements=ModelRequirements(ram_gb=1000))
        room.clock.advance(10)
        with pytest.raises(Infeasible, match="1000 GiB of memory"):
            room.service.redeploy(KEY)
        assert room.service.get(KEY) == before

    def test_while_ray_is_away_a_deploy_is_accepted_and_waits(self, room: Room) -> None:
        room.ray_is_away = True
        room.save(requirements=ModelRequirements(num_gpus=1))
        assert room.deploy().phase == "not_started"


class TestNames:
    OTHER = ModelKey("det", "ssd", "run2")

    def test_a_taken_name_is_refused_naming_its_holder(self, room: Room) -> None:
        room.save()
        room.save(self.OTHER)
        room.deploy()
        with pytest.raises(NameTaken, match="the name 'det/ssd' belongs to the deployment 'det/ssd/run1'"):
            room.deploy(self.OTHER)
        assert room.service.find(DeploymentKey("det", "ssd", "run2")) is None

    def test_taking_a_name_is_one_write_and_the_holder_goes_on_under_its_key(self, room: Room) -> None:
        room.save()
        room.save(self.OTHER)
        first = room.deploy()
        taker = room.deploy(self.OTHER, take_name=True)
        assert taker.name == "det/ssd"
        holder = room.service.get(KEY)
        assert (holder.name, holder.generation, holder.version) == ("det/ssd/run1", 1, first.version + 1)
        back = room.deploy(name="det/ssd", take_name=True)
        assert (back.name, back.generation) == ("det/ssd", 1)
        assert room.service.get(taker.key).name == "det/ssd/run2"

    def test_a_new_name_restarts_nothing(self, room: Room) -> None:
        room.save()
        room.deploy()
        renamed = room.deploy(name="detector")
        assert (renamed.name, renamed.generation, renamed.version, renamed.phase) == (
            "detector",
            1,
            2,
            "not_started",
        )
        assert room.deploy().name == "detector"

    def test_an_undeployed_name_is_free(self, room: Room) -> None:
        room.save()
        room.save(self.OTHER)
        room.deploy()
        room.service.undeploy(KEY)
        assert room.deploy(self.OTHER).name == "det/ssd"
        with pytest.raises(NameTaken):
            room.deploy()

    @pytest.mark.parametrize("name", ["", "a//b", "a__b", "det/ssd/run2", "a" * 300])
    def test_bad_names(self, room: Room, name: str) -> None:
        room.save()
        with pytest.raises(InvalidName):
            room.deploy(name=name)


class TestUndeploy:
    def test_twice_is_clean_and_the_row_stays(self, room: Room) -> None:
        room.save()
        room.deploy()
        first = room.service.undeploy(KEY)
        assert (first.phase, first.generation) == ("deleting", 2)
        assert room.service.undeploy(KEY) == first
        assert (room.wakes, room.changes.version) == (2, 2)
        room.observe(phase="not_deployed")
        assert room.service.undeploy(KEY).phase == "not_deployed"
        assert room.service.list().items == []
        assert [item.key for item in room.service.list(live=False).items] == [KEY]

    def test_deployed_again(self, room: Room) -> None:
        room.save()
        room.deploy(name="mine")
        room.service.undeploy(KEY)
        again = room.deploy()
        assert (again.phase, again.name, again.generation, again.replicas) == (
            "not_started",
            "det/ssd",
            3,
            [],
        )

    @pytest.mark.parametrize("method", ["get", "undeploy", "redeploy"])
    def test_never_deployed(self, room: Room, method: str) -> None:
        room.save()
        with pytest.raises(ModelNotDeployed, match="'det/ssd/run1' is not deployed"):
            getattr(room.service, method)(KEY)

    def test_what_is_undeployed_is_not_redeployed(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.service.undeploy(KEY)
        with pytest.raises(ModelNotDeployed):
            room.service.redeploy(KEY)


class TestReading:
    def test_replicas_are_shown_with_the_names_of_their_nodes(self, room: Room) -> None:
        room.save()
        room.deploy()
        room.observe(replicas=[RUNNING])
        (replica,) = room.service.get(KEY).replicas
        assert replica.model_dump() == {
            "replica_id": "r1",
            "state": "RUNNING",
            "node_id": "n1",
            "node_ip": "10.0.0.1",
            "node_name": "node-one",
        }

    def test_what_was_seen_holds_until_ray_was_last_seen(self, room: Room) -> None:
        room.save()
        room.deploy()
        assert room.service.get(KEY).observed_at is None
        room.observe(observed_at=EPOCH)
        room.view.saw(EPOCH + timedelta(seconds=9))
        assert room.service.get(KEY).observed_at == EPOCH + timedelta(seconds=9)
        room.observe(stale=True)
        assert (room.service.get(KEY).observed_at, room.service.get(KEY).stale) == (EPOCH, True)

    def test_reading_writes_nothing(self, room: Room) -> None:
        room.save()
        version = room.deploy().version
        room.service.get(KEY)
        room.service.list()
        assert room.service.get(KEY).version == version
        assert room.changes.version == 1

    def test_logs(self, room: Room) -> None:
        room.save()
        room.deploy()
        assert room.service.log(KEY, 5) == "last 5 lines of det__ssd__run1"
        with pytest.raises(ModelNotDeployed):
            room.service.log(DeploymentKey("a", "b", "c"), 5)
