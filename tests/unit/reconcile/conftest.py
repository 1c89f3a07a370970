"""A Ray in memory, and a reconciler on it that is stepped by hand."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.contracts.deployment import Deployment, DeployRequest
from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import EngineUnavailable, InternalError
from roost.keys import DeploymentKey, ModelKey
from roost.reconcile.deployments import Reconciler
from roost.reconcile.scheduling import Scheduling
from roost.records.database import Database
from roost.records.events import list_events
from roost.records.tables import METADATA
from roost.services.changes import Changes
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.models import Models
from roost.serving.plan import IngressOptions
from roost.serving.scale import initial
from roost.serving.settings import ServeSettings
from roost.serving.usage import Usage
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

GENERIC = "Failed to update the deployments ['App']."


class Ray:
    """Holds applications as Ray Serve does; a test sets what becomes of them.

    Attributes:
        apps: Per name what `GET` shows of it.
        puts: All bodies that were PUT.
        refuses: Names whose application is refused.
        away: Whether Ray does not answer.
        unrouted: Route prefixes that the ingress does not know yet.
        gib: Memory of its one node.
        used_gib: What the actors there hold.
        usage: By route prefix what replicas say; the others were idle since they are up.
        asked: Route prefixes whose replicas were asked for their usage.
        looks: How often it was asked for nodes.
        placed: Replicas that are only just coming up.
    """

    def __init__(self) -> None:
        self.apps: dict[str, dict[str, Any]] = {}
        self.puts: list[dict[str, Any]] = []
        self.gets = 0
        self.refuses: set[str] = set()
        self.away = False
        self.unrouted: set[str] = set()
        self.gib = 10.0
        self.used_gib = 0.0
        self.usage: dict[str, Usage | None] = {}
        self.asked: list[tuple[str, int]] = []
        self.looks = 0
        self.placed: set[str] = set()
        self._replicas = 0

    def get(self) -> dict[str, Any]:
        if self.away:
            raise EngineUnavailable("Ray does not answer at 'http://ray'.")
        self.gets += 1
        return {"applications": copy.deepcopy(self.apps), "http_options": None, "target_capacity": None}

    def put(self, body: dict[str, Any]) -> None:
        if self.away:
            raise EngineUnavailable("Ray does not answer at 'http://ray'.")
        named = {app["name"]: app for app in body["applications"]}
        refused = self.refuses & named.keys()
        if refused:
            raise InternalError(f"Ray refused: {min(refused)} is odd.")
        self.puts.append(copy.deepcopy(body))
        for name, app in named.items():
            shown = self.apps.setdefault(name, {"deployments": {}})
            if shown.get("deployed_app_config") != app:
                shown.update(deployed_app_config=app, status="DEPLOYING", message="")
        for name, shown in self.apps.items():
            if name not in named and shown.get("deployed_app_config") is not None:
                shown.update(deployed_app_config=None, status="DELETING", deployments={})

    def run(self, name: str) -> None:
        """All replicas of `name` are new, and up."""
        count = initial(self.apps[name]["deployed_app_config"])
        self._replicas += count
        replicas = [
            {"replica_id": f"r{self._replicas - n}", "state": "RUNNING", "node_id": "n1"}
            for n in range(count)
        ]
        part = {"status": "HEALTHY", "message": "", "target_num_replicas": count, "replicas": replicas}
        self.apps[name].update(status="RUNNING", message="", deployments={"App": part})

    def fail(self, name: str, message: str) -> None:
        """`name` did not start; replicas that ran before go on."""
        old = self.apps[name]["deployments"].get("App", {}).get("replicas", [])
        part = {"status": "DEPLOY_FAILED", "message": message, "target_num_replicas": 1, "replicas": old}
        self.apps[name].update(status="DEPLOY_FAILED", message=GENERIC, deployments={"App": part})

    def wait(self, name: str, *, status: str = "DEPLOYING", target: int = 1) -> None:
        """`name` has one more replica, which waits for room; those that ran go on."""
        old = self.apps[name]["deployments"].get("App", {}).get("replicas", [])
        self._replicas += 1
        new = {"replica_id": f"r{self._replicas}", "state": "STARTING", "node_id": None}
        part = {"status": "UPDATING", "message": "", "target_num_replicas": target, "replicas": [*old, new]}
        self.apps[name].update(status=status, deployments={"App": part})

    def stop(self, name: str) -> None:
        """The replicas of `name` drain."""
        part = self.apps[name]["deployments"]["App"]
        part["target_num_replicas"] = 0
        for replica in part["replicas"]:
            replica["state"] = "STOPPING"

    def sleep(self, name: str) -> None:
        """`name` has no replica any more, and needs none."""
        part = {"status": "HEALTHY", "message": "", "target_num_replicas": 0, "replicas": []}
        self.apps[name].update(status="RUNNING", deployments={"App": part})

    def list_nodes(self) -> list[NodeInfo]:
        if self.away:
            raise EngineUnavailable("Ray does not answer at 'http://ray'.")
        self.looks += 1
        return [
            NodeInfo(
                node_id="n1",
                name="node-one",
                ip="10.0.0.1",
                alive=True,
                resources={"CPU": 8.0, "memory": self.gib * 1024**3},
                used={"memory": self.used_gib * 1024**3},
            )
        ]

    def unplaced_replicas(self) -> set[str]:
        return {
            replica["replica_id"]
            for shown in self.apps.values()
            for part in shown["deployments"].values()
            for replica in part["replicas"]
            if replica["state"] == "STARTING"
        } - self.placed

    def ask_usage(self, prefix: str, replicas: int) -> Usage | None:
        self.asked.append((prefix, replicas))
        return self.usage.get(prefix, Usage(0, 3600.0))

    def forget(self, name: str) -> None:
        """The deletion of `name` is done."""
        del self.apps[name]


class House:
    """The services and the reconciler over one database and one Ray."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.ray = Ray()
        self.clock = FakeClock()
        self.changes = Changes()
        self.wakes = 0
        self.view = EngineView(lambda: [], lambda name, tail: f"{name} {tail}")
        self.view.find_nodes = lambda: None  # type: ignore[method-assign]
        settings = ServeSettings(serve_url="http://serve", storage_url="file:///s")
        models = Models(db, MemoryStore(), self.clock)
        self.deployments = Deployments(
            db, models, self.view, settings, self.changes, self.clock, wake=self._woken
        )
        self.reconciler = self.another_reconciler("first")

    def another_reconciler(self, holder: str) -> Reconciler:
        return Reconciler(
            self.db,
            self.ray,
            self.view,
            self.changes,
            self.clock,
            holder=holder,
            ingress=IngressOptions(http_options={"port": 1}),
            scheduling=Scheduling(self.ray, self.ray.ask_usage, lambda: self.clock.now().timestamp()),
            is_routed=lambda prefix, version: prefix not in self.ray.unrouted,
            monotonic=lambda: self.clock.now().timestamp(),
        )

    def deploy(self, run_name: str = "r", **request: Any) -> Deployment:
        key = ModelKey("f", "s", run_name)
        needs = ModelRequirements(ram_gb=request.pop("ram_gb", 0))
        save_ready_model(self.db, key, bundle=request.pop("bundle", "b" * 64), requirements=needs)
        request.setdefault("name", run_name)
        return self.deployments.deploy(key, DeployRequest(**request))

    def show(self, run_name: str = "r") -> Deployment:
        return self.deployments.get(DeploymentKey("f", "s", run_name))

    def cycle(self, after_s: float = 0.0) -> float:
        self.clock.advance(after_s)
        return self.reconciler.cycle()

    def running(self, run_name: str, **request: Any) -> None:
        """A deployment that runs."""
        self.deploy(run_name, **request)
        self.cycle()
        self.ray.run(f"f__s__{run_name}")
        self.cycle()
        assert self.show(run_name).phase == "running"

    def waiting(self, run_name: str, **request: Any) -> None:
        """A deployment whose first replica has waited for room for a while."""
        self.deploy(run_name, **request)
        self.cycle()
        self.ray.wait(f"f__s__{run_name}")
        self.cycle()
        self.cycle(after_s=1.1)

    def swapped(self) -> None:
        """`a` is paused for `b`, which runs."""
        self.running("a", ram_gb=6)
        self.ray.used_gib = 6
        self.clock.advance(100)
        self.waiting("b", ram_gb=6)
        self.cycle()
        self.ray.sleep("f__s__a")
        self.ray.run("f__s__b")
        self.cycle(after_s=10)
        assert (self.show("a").phase, self.show("b").phase) == ("paused", "running")

    def told(self, run_name: str) -> list[tuple[str, str]]:
        """Its events."""
        with self.db.read() as session:
            return [(event.kind, event.message) for event in list_events(session, subject=f"f/s/{run_name}")]

    def scale_of(self, name: str) -> tuple[int, int, int]:
        """Fewest, most and first replicas that Ray was last told."""
        app = next(app for app in self.ray.puts[-1]["applications"] if app["name"] == name)
        scale = app["deployments"][0]["autoscaling_config"]
        return scale["min_replicas"], scale["max_replicas"], scale["initial_replicas"]

    def _woken(self) -> None:
        self.wakes += 1


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    db = Database(f"sqlite:///{tmp_path}/roost.db")
    METADATA.create_all(db.engine)
    yield House(db)
    db.close()
