"""The reconciler's own thread over HTTP to a fake dashboard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.contracts.deployment import Deployment
from roost.errors import Unavailable
from roost.keys import DeploymentKey
from roost.reconcile.deployments import IN_FLIGHT_S
from roost.records.database import Database
from roost.testing.deploying_server import DeployingServer, open_records
from roost.testing.fake_serve import FakeServe

LONG_S = 30.0


class Server(DeployingServer):
    """Waits for what it shows."""

    def wait(self, run_name: str, until: Callable[[Deployment], bool]) -> Deployment:
        """Wait for the next changes until one is as wanted."""
        deadline = time.monotonic() + LONG_S
        while True:
            seen = self.changes.version
            shown = self.show(run_name)
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
    database = open_records(tmp_path / "roost.db")
    yield database
    database.close()


@pytest.fixture
def server(db: Database, ray: FakeServe) -> Iterator[Server]:
    started = Server(db, ray.url)
    started.start()
    yield started
    started.stop()


def wait_for_app(server: Server, run_name: str) -> str:
    server.wait_phase(run_name, "deploying")
    return f"f__s__{run_name}"


def test_a_waiter_hears_of_a_change_at_the_next_look(server: Server, ray: FakeServe) -> None:
    """In what time is measured by bench/reconcile.py."""
    assert IN_FLIGHT_S <= 0.2
    server.deploy("a")
    app = wait_for_app(server, "a")
    with pytest.raises(Unavailable):
        server.routes.resolve("a", "detection")
    looks: list[int] = []
    server.changes.first(lambda: looks.append(len(ray.requests)))
    for _ in range(3):
        looks.clear()
        before = len(ray.requests)
        ray.finish(app)
        server.wait_phase("a", "running")
        assert looks[0] - before <= 2  # one may have been under way
        ray.crash(app)
        server.wait_phase("a", "unhealthy")
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
    first, second = Server(db, ray.url, "first"), Server(db, ray.url, "second")
    first.start()
    second.start()
    first.deploy("a")
    first.wait_phase("a", "running")
    first.stop()
    second.deploy("b")
    second.wait_phase("b", "running")
    assert second.wait_phase("a", "running").version > 0
    second.stop()
    assert [len(put["applications"]) for put in ray.puts] == [1, 2]
