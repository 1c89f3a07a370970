"""The routes of deployments."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from roost.api.deployments import deployments_router
from roost.api.errors import install_error_handlers
from roost.contracts.deployment import DeployRequest
from roost.keys import DeploymentKey, ModelKey
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.services.changes import Changes
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.models import Models
from roost.serving.settings import ServeSettings
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

MODEL = ModelKey("det", "ssd", "run1")
PATH = "/api/deployments/det/ssd/run1"


class WatchedChanges(Changes):
    """Says when a coroutine begins to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = asyncio.Event()

    async def wait(self, seen: int, timeout_s: float) -> int:
        self.waiting.set()
        return await super().wait(seen, timeout_s)


class Api:
    """The app, and the service behind it."""

    def __init__(self, db: Database) -> None:
        clock = FakeClock()
        self.changes = WatchedChanges()
        view = EngineView(lambda: [], lambda name, tail: f"{name} {tail}\n")
        view.find_nodes = lambda: None  # type: ignore[method-assign]
        settings = ServeSettings(serve_url="http://serve", storage_url="file:///s")
        models = Models(db, MemoryStore(), clock)
        self.service = Deployments(db, models, view, settings, self.changes, clock, wake=lambda: None)
        self.app = FastAPI()
        install_error_handlers(self.app)
        self.app.include_router(deployments_router(self.service, self.changes))

    def call(self, method: str, path: str, **more: Any) -> httpx2.Response:
        async def send() -> httpx2.Response:
            async with self.client() as client:
                return await client.request(method, path, **more)

        return asyncio.run(send())

    def client(self) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self.app, raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url="http://roost")


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    db = Database(f"sqlite:///{tmp_path}/roost.db")
    METADATA.create_all(db.engine)
    save_ready_model(db, MODEL)
    yield Api(db)
    db.close()


def test_deploy_show_list_undeploy(api: Api) -> None:
    deployed = api.call("PUT", PATH, json={"config": {"thinking": "false"}, "numReplicas": 2})
    assert deployed.status_code == 200
    body = deployed.json()
    assert (body["name"], body["configFingerprint"], body["numReplicas"], body["phase"]) == (
        "det/ssd@a32291675798",
        "a32291675798",
        2,
        "not_started",
    )
    at = {"fingerprint": "a32291675798"}
    assert api.call("GET", PATH, params=at).json() == body
    assert api.call("GET", "/api/deployments").json() == {"items": [body]}
    assert api.call("POST", f"{PATH}/redeploy", params=at).json() == body
    assert (
        api.call("GET", f"{PATH}/logs", params={**at, "tail": 7}).text == "det__ssd__run1__a32291675798 7\n"
    )
    assert api.call("DELETE", PATH, params=at).json()["phase"] == "deleting"
    assert api.call("DELETE", PATH, params=at).json()["phase"] == "deleting"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", PATH, None, 404, "model_not_deployed"),
        ("DELETE", PATH, None, 404, "model_not_deployed"),
        ("POST", f"{PATH}/redeploy", None, 404, "model_not_deployed"),
        ("GET", f"{PATH}/logs", None, 404, "model_not_deployed"),
        ("PUT", "/api/deployments/det/ssd/other", {}, 404, "model_not_found"),
        ("PUT", "/api/deployments/det/a__b/run1", {}, 400, "invalid_name"),
        ("GET", "/api/deployments/det/a b/run1", None, 400, "invalid_name"),
        ("GET", f"{PATH}?fingerprint=XYZ", None, 400, "invalid_name"),
        ("PUT", PATH, {"name": "a//b"}, 400, "invalid_name"),
        ("PUT", PATH, {"config": {" ": "x"}}, 400, "invalid_config"),
        ("PUT", PATH, {"config": {"a": 1}}, 422, "validation_failed"),
        ("PUT", PATH, {"numReplicas": 0}, 422, "validation_failed"),
        ("PUT", PATH, {"numReplicas": 100000}, 422, "validation_failed"),
        ("GET", f"{PATH}?waitS=31", None, 422, "validation_failed"),
        ("GET", f"{PATH}?waitS=nan", None, 422, "validation_failed"),
    ],
)
def test_errors_are_in_the_envelope(
    api: Api, method: str, path: str, body: dict[str, Any] | None, status: int, reason: str
) -> None:
    answer = api.call(method, path, json=body)
    assert answer.status_code == status
    assert answer.json()["error"].get("reason") == reason


def long_poll(api: Api, change: Callable[[], object], **params: Any) -> dict[str, Any]:
    async def wait() -> dict[str, Any]:
        async with api.client() as client:
            asking = asyncio.create_task(client.get(PATH, params=params))
            waiting = asyncio.create_task(api.changes.waiting.wait())
            await asyncio.wait({asking, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            await asyncio.to_thread(change)
            answer: dict[str, Any] = (await asking).json()
            return answer

    return asyncio.run(wait())


def test_a_waiter_hears_of_the_next_change(api: Api) -> None:
    deployed = api.service.deploy(MODEL, DeployRequest())
    seen = long_poll(
        api,
        lambda: api.service.undeploy(DeploymentKey("det", "ssd", "run1")),
        afterVersion=deployed.version,
        waitS=30,
    )
    assert (seen["phase"], seen["version"]) == ("deleting", deployed.version + 1)


def test_who_has_not_seen_the_present_version_is_answered_at_once(api: Api) -> None:
    api.service.deploy(MODEL, DeployRequest())
    assert long_poll(api, lambda: None, afterVersion=0, waitS=30)["version"] == 1


def test_without_a_change_the_same_is_answered_in_the_end(api: Api) -> None:
    api.service.deploy(MODEL, DeployRequest())
    assert long_poll(api, lambda: None, afterVersion=1, waitS=0)["version"] == 1
