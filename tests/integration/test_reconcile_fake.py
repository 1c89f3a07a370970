"""The reconciler's own thread over HTTP to a fake dashboard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.contracts.deployment import Deployment, DeployRequest
from roost.engine.logs import replica_log
from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.errors import Unavailable
from roost.keys import DeploymentKey, ModelKey
from roost.reconcile.deployments import Reconciler
from roost.records.database import Database
from roost.records.upgrade import upgrade
from roost.services.changes import Changes
from roost.services.clock import SystemClock
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.models import Models
from roost.services.routes import RouteTable
from roost.serving.plan import IngressOptions
from roost.serving.settings import ServeSettings
from roost.testing.fake_serve import FakeServe
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

LONG_S = 30.0


class Server:
    """The parts of one server that deployments need."""

    def __init__(self, db: Database, ray: FakeServe, holder: str) -> None:
        clock = SystemClock()
        self.db = db
        self.changes = Changes()
        self.api = ServeApi(ray.url, None, timeout_s=2.0)
        self.view = EngineView(
            lambda: list_nodes(self.api.dashboard), lambda name, tail: replica_log(self.api, name, tail)
        )
        self.reconciler = Reconciler(
            db,
            self.api,
            self.view,
            self.changes,
            clock,
            holder=holder,
            ingress=IngressOptions(http_options={"host": "127.0.0.1", "port": 8000}),
        )
        self.deployments = Deployments(
            db,
            Models(db, MemoryStore(), clock),
            self.view,
            ServeSettings(serve_url="http://127.0.0.1:8000", storage_url="file:///s"),
            self.changes,
            clock,
            wake=self.reconciler.wake,
        )
        self.routes = RouteTable(db, self.changes, serve_url="http://127.0.0.1:8000")

    def start(self) -> Server:
        self.routes.start()
        self.reconciler.start()
        return self

    def stop(self) -> None:
        self.reconciler.stop()
        self.changes.close()
        self.routes.stop()
        self.api.close()

    def deploy(self, run_name: str, *, bundle: str = "b" * 64) -> Deployment:
        model = ModelKey("f", "s", run_name)
        save_ready_model(self.db, model, bundle=bundle)
        return self.deployments.deploy(model, DeployRequest(name=run_name))

    def wait(self, run_name: str, until: Callable[[Deployment], bool]) -> Deployment:
        """Wait for the next changes until one is as wanted."""
        deadline = time.monotonic() + LONG_S
        while True:
            seen = self.changes.version
            shown = self.deployments.get(DeploymentKey("f", "s", run_name))
            if until(shown):
                return shown
            assert time.monotonic() < deadline, shown
            self.changes.wait_blocking(seen, LONG_S)

    def wait_phase(self, run_name: str, phase: str) -> Deployment:
        return self.wait(run_name, lambda shown: shown.phase == phase)


@pytest.fixture
def ray() -> Iterator[FakeServe]:
    with FakeServe(instant=False) as fake:
        yield fake


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/roost.db")
    upgrade(database)
    yield database
    database.close()


@pytest.fixture
def server(db: Database, ray: FakeServe) -> Iterator[Server]:
    started = Server(db, ray, "one").start()
    yield started
    started.stop()


def wait_for_app(server: Server, run_name: str) -> str:
    server.wait_phase(run_name, "deploying")
    return f"f__s__{run_name}"


def test_a_waiter_hears_within_300_ms_of_ray_showing_it(server: Server, ray: FakeServe) -> None:
    server.deploy("a")
    app = wait_for_app(server, "a")
    with pytest.raises(Unavailable):
        server.routes.resolve("a", "detection")
    waits_s = []
    for _ in range(3):
        ray.set_status(app, "DEPLOYING")
        server.wait_phase("a", "deploying")
        ray.finish(app)
        shown_at = time.monotonic()
        server.wait_phase("a", "running")
        waits_s.append(time.monotonic() - shown_at)
    assert min(waits_s) < 0.3
    assert len(ray.puts) == 1


def test_many_deploy_at_once_while_others_undeploy_and_redeploy(server: Server, ray: FakeServe) -> None:
    ray.instant = True
    server.deploy("old")
    server.wait_phase("old", "running")
    old = DeploymentKey("f", "s", "old")
    start = threading.Barrier(22)

    def deploy(number: int) -> None:
        start.wait(LONG_S)
        server.deploy(f"run{number}")

    def churn() -> None:
        start.wait(LONG_S)
        for _ in range(5):
            server.deployments.undeploy(old)
            server.deploy("old")

    with ThreadPoolExecutor(22) as pool:
        jobs = [pool.submit(deploy, number) for number in range(20)] + [pool.submit(churn) for _ in range(2)]
        for job in jobs:
            job.result()
    for name in ("old", *(f"run{number}" for number in range(20))):
        server.wait(
            name, lambda shown: shown.phase == "running" and shown.observed_generation == shown.generation
        )
    assert {app["name"] for app in ray.puts[-1]["applications"]} == {
        "f__s__old",
        *(f"f__s__run{number}" for number in range(20)),
    }
    assert len(ray.puts) <= 32


def test_a_failed_start_says_why_and_can_be_undeployed(server: Server, ray: FakeServe) -> None:
    ray.instant = True
    ray.broken["roost.replica.builder:build"] = "\x1b[31mValueError: no such file\x1b[0m"
    server.deploy("a")
    assert server.wait_phase("a", "failed").message == "ValueError: no such file"
    ray.broken.clear()
    server.deploy("a")
    server.wait_phase("a", "running")
    server.deployments.undeploy(DeploymentKey("f", "s", "a"))
    server.wait_phase("a", "not_deployed")


def test_ray_dies_and_comes_back_empty(server: Server, ray: FakeServe) -> None:
    ray.instant = True
    server.deploy("a")
    server.wait_phase("a", "running")
    ray.stop()
    stale = server.wait("a", lambda shown: shown.stale)
    assert stale.phase == "running"
    assert server.routes.resolve("a", "detection").phase == "running"
    assert server.deploy("while-away").phase == "not_started"
    ray.lose()
    ray.start()
    server.wait("a", lambda shown: not shown.stale and shown.phase == "running")
    server.wait_phase("while-away", "running")
    assert len(ray.puts[-1]["applications"]) == 2


def test_a_quiet_server_only_looks(server: Server, ray: FakeServe) -> None:
    ray.instant = True
    server.deploy("a")
    server.wait_phase("a", "running")
    version, calls = server.changes.version, len(ray.requests)
    server.changes.wait_blocking(version, 2.5)
    assert server.changes.version == version
    looks = ray.requests[calls:]
    assert 1 <= len(looks) <= 4
    assert set(looks) == {("GET", "/api/serve/applications/")}


def test_a_second_server_takes_over_from_one_that_stopped(db: Database, ray: FakeServe) -> None:
    ray.instant = True
    first, second = Server(db, ray, "first").start(), Server(db, ray, "second").start()
    first.deploy("a")
    first.wait_phase("a", "running")
    first.stop()
    second.deploy("b")
    second.wait_phase("b", "running")
    assert second.wait_phase("a", "running").version > 0
    second.stop()
    assert [len(put["applications"]) for put in ray.puts] == [1, 2]
