"""A dashboard under test: the fake, or the real one of an embedded cluster."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
import pytest

from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.serve_api import ServeApi
from roost.serving.scale import fixed
from roost.testing.fake_serve import FakeServe

Seen = TypeVar("Seen")

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
better = App.bind()
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
        return self.wait(name, lambda app: app.get("status") == status)

    def wait(self, name: str, good: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until the application is as wanted; a Ray that does not list it shows `{}`."""
        return self.until(lambda: self.apps().get(name, {}), good)

    def until(self, look: Callable[[], Seen], good: Callable[[Seen], bool]) -> Seen:
        """Look again and again until it is good."""
        deadline = time.monotonic() + self.patience_s
        while not good(seen := look()):
            assert time.monotonic() < deadline, seen
            time.sleep(0.05)
        return seen

    def step(self, name: str, *steps: str) -> None:
        """What Ray does by itself is from now on said to the fake: `build`, `run`, `finish`, ..."""
        if self.fake is not None:
            self.fake.instant = False
            for step in steps:
                getattr(self.fake, step)(name)

    def ask(self, config: dict[str, Any]) -> threading.Thread:
        """Send a request to the application; it is answered once a replica runs."""

        def send() -> None:
            port = self.options["http_options"]["port"]
            url = f"http://127.0.0.1:{port}{config['route_prefix']}"
            assert httpx2.get(url, timeout=self.patience_s, trust_env=False).text == "ok"

        thread = threading.Thread(target=send if self.fake is None else lambda: None)
        thread.start()
        self.step(config["name"], "wake")
        return thread

    def an_app(self, import_path: str = "contract_apps:good", *, num_cpus: float = 0.1) -> dict[str, Any]:
        """As Roost PUTs it."""
        name = f"a{uuid.uuid4().hex[:6]}"
        part = {
            "name": "App",
            "autoscaling_config": fixed(1),
            "max_surge_percent": 100,
            "graceful_shutdown_timeout_s": 2.0,
            "health_check_period_s": 1.0,
            "ray_actor_options": {"num_cpus": num_cpus},
        }
        return {
            "name": name,
            "route_prefix": f"/r/{name}",
            "import_path": import_path,
            "deployments": [part],
        }


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
        subject = Subject(server.url, "secret", options, 5, server)
        subject.put()
        yield subject
        subject.api.close()


@pytest.fixture(params=["fake", pytest.param("ray", marks=pytest.mark.ray)])
def serve(request: pytest.FixtureRequest) -> Iterator[Subject]:
    subject: Subject = request.getfixturevalue(request.param)
    yield subject
    subject.put()  # what goes may still be on its way out when the next test begins
