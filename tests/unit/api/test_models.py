from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from roost.api.errors import install_error_handlers
from roost.api.models import models_router
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.services.models import Models
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore

BUNDLE = "a" * 64
OTHER = "b" * 64
JSON = {"content-type": "application/json"}
ENTRY = "/api/models/yolo/coco/imported"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    database = Database(f"sqlite:///{tmp_path}/records.db")
    METADATA.create_all(database.engine)
    store = MemoryStore()
    store.put("bundles", BUNDLE, b"zip")
    store.put("bundles", OTHER, b"other zip")
    app = FastAPI()
    install_error_handlers(app)
    app.include_router(models_router(Models(database, store, FakeClock())))
    with TestClient(app) as client:
        yield client
    database.close()


def servable(fingerprint: str = BUNDLE) -> dict[str, Any]:
    return {"classPath": "pkg:Model", "kind": "serve_app", "bundleFingerprint": fingerprint}


def claim(client: TestClient, entry: str = ENTRY, mode: str = "register") -> str:
    answer = client.post(f"{entry}/claims", json={"mode": mode, "writer": "ann"}).json()
    token: str = answer["token"]
    assert answer == {"token": token, "leaseS": 30.0, "ready": None}
    return token


def register(client: TestClient, entry: str = ENTRY) -> None:
    token = claim(client, entry)
    assert client.post(f"{entry}/claims/{token}/commit", json={"servable": servable()}).status_code == 200


def test_a_model_from_claim_to_entry(client: TestClient) -> None:
    assert client.get(ENTRY).json()["error"]["reason"] == "model_not_found"
    token = claim(client)
    assert client.get(ENTRY).json()["phase"] == "uploading"
    assert client.put(f"{ENTRY}/claims/{token}").json() == {"token": token, "leaseS": 30.0, "ready": None}
    commit = {"servable": servable(), "requirements": {"numGpus": 1}, "config": {"a": "b"}}
    saved = client.post(f"{ENTRY}/claims/{token}/commit", json=commit)
    assert saved.status_code == 200
    assert saved.json() == {
        "family": "yolo",
        "suffix": "coco",
        "runName": "imported",
        "createdAt": "2026-01-01T00:00:00Z",
        "dataBlobPath": "no-weights",
        "sizeBytes": 0,
        "phase": "ready",
        "requirements": {"numGpus": 1.0, "ramGb": 0.0, "vramGb": 0.0},
        "config": {"a": "b"},
        "bundleFingerprint": BUNDLE,
        "digest": "",
        "hasWeights": False,
        "classPath": "pkg:Model",
        "capability": None,
        "message": "",
    }
    assert client.get(ENTRY).json() == saved.json()
    again = client.post(f"{ENTRY}/claims", json={"mode": "register", "writer": "bob"}).json()
    assert again == {"token": None, "leaseS": 0.0, "ready": saved.json()}


def test_a_busy_model(client: TestClient) -> None:
    claim(client)
    response = client.post(f"{ENTRY}/claims", json={"mode": "import", "writer": "bob"})
    assert response.status_code == 409
    assert response.headers["retry-after"] == "30"
    assert response.json()["error"]["reason"] == "model_busy"
    assert response.json()["error"]["message"] == "'yolo/coco/imported' is being registered by 'ann'."
    lost = client.put(f"{ENTRY}/claims/{'0' * 32}")
    assert (lost.status_code, lost.json()["error"]["reason"]) == (409, "model_busy")


def test_giving_up(client: TestClient) -> None:
    token = claim(client)
    response = client.post(f"{ENTRY}/claims/{token}/abandon", json={"reason": "Ctrl-C"})
    assert (response.json()["phase"], response.json()["message"]) == ("upload_failed", "Ctrl-C")
    nothing = client.post("/api/models/no/such/model/claims/x/abandon", json={"reason": "Ctrl-C"})
    assert (nothing.status_code, nothing.json()) == (200, None)


def test_changing_an_entry(client: TestClient) -> None:
    register(client)
    assert client.put(f"{ENTRY}/config", json={"config": {"c": "d"}}).json()["config"] == {"c": "d"}
    changed = client.put(f"{ENTRY}/requirements", json={"requirements": {"ramGb": 2}}).json()
    assert changed["requirements"] == {"numGpus": 0.0, "ramGb": 2.0, "vramGb": 0.0}
    fresh = client.put(f"{ENTRY}/bundle", json={"servable": servable(OTHER)}).json()
    assert fresh["bundleFingerprint"] == OTHER


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("config", {"config": {"a": 1}}, 422, "validation_failed"),
        ("config", {"config": {" ": "a"}}, 400, "invalid_config"),
        ("config", {"config": {"a": "\ud800"}}, 400, "invalid_config"),
        ("config", {}, 422, "validation_failed"),
        ("config", [], 422, "validation_failed"),
        ("requirements", {"requirements": {"numGpus": -1}}, 400, "invalid_requirements"),
        ("requirements", {"requirements": {"numGpus": 1.5}}, 400, "invalid_requirements"),
        ("bundle", {"servable": servable("c" * 64)}, 404, "artifact_not_found"),
        ("bundle", {"servable": servable("../x")}, 400, "invalid_name"),
        ("bundle", {"servable": servable(OTHER) | {"classPath": "\ud800"}}, 400, None),
    ],
)
def test_bad_changes_change_nothing(
    client: TestClient, path: str, body: Any, status: int, reason: str | None
) -> None:
    register(client)
    before = client.get(ENTRY).json()
    response = client.put(f"{ENTRY}/{path}", content=json.dumps(body), headers=JSON)
    assert (response.status_code, response.json()["error"].get("reason")) == (status, reason)
    assert client.get(ENTRY).json() == before


def test_deleting(client: TestClient) -> None:
    token = claim(client)
    busy = client.delete(ENTRY)
    assert (busy.status_code, busy.json()["error"]["reason"]) == (409, "model_busy")
    client.post(f"{ENTRY}/claims/{token}/commit", json={"servable": servable()})
    gone = client.delete(ENTRY)
    assert (gone.status_code, gone.content) == (204, b"")
    again = client.delete(ENTRY)
    assert (again.status_code, again.json()["error"]["reason"]) == (404, "model_not_found")
    assert client.delete("/api/models/a/b/%2e%2e").json()["error"]["reason"] == "invalid_name"
    register(client)


def test_listing(client: TestClient) -> None:
    for family in ("b", "a", "c"):
        register(client, f"/api/models/{family}/x/declared")
    claim(client, "/api/models/a/y/run-1", "save")

    def keys(query: str) -> tuple[list[str], int]:
        page = client.get(f"/api/models{query}").json()
        return [f"{item['family']}/{item['suffix']}" for item in page["items"]], page["total"]

    assert keys("") == (["a/x", "a/y", "b/x", "c/x"], 4)
    assert keys("?limit=2&offset=1") == (["a/y", "b/x"], 4)
    assert keys("?runName=run-1") == (["a/y"], 1)
    assert keys("?family=a&suffix=x") == (["a/x"], 1)
    assert keys("?phase=uploading") == (["a/y"], 1)
    assert keys("?phase=broken") == ([], 0)
    assert keys("?limit=2&after=a/x/declared") == (["a/y", "b/x"], 4)
    assert keys("?after=a%2Fy%2Frun-1&phase=ready") == (["b/x", "c/x"], 3)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "offset=-1", "offset=99999999999999999999", "phase=gone"]
)
def test_bad_queries(client: TestClient, query: str) -> None:
    response = client.get(f"/api/models?{query}")
    assert response.status_code == 422
    assert response.json()["error"]["issues"][0]["loc"] == ["query", query.partition("=")[0]]


@pytest.mark.parametrize(
    "path",
    [
        "/api/models/a__b/c/d",
        "/api/models/a/c/%2e%2e",
        "/api/models/a/c/d%00",
        "/api/models/a/c/é",
        "/api/models/a/c/" + "d" * 64,
        "/api/models?family=a%2Fb",
        "/api/models?after=a/b",
        "/api/models?after=a/../d",
        "/api/models/a/%20/d",
    ],
)
def test_bad_names_are_refused_by_name(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 400
    assert response.json()["error"]["reason"] == "invalid_name"


def test_saving_under_a_reserved_run_name(client: TestClient) -> None:
    response = client.post(f"{ENTRY}/claims", json={"mode": "save", "writer": "ann"})
    assert (response.status_code, response.json()["error"]["reason"]) == (400, "invalid_name")
