from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from roost.api import artifacts as artifacts_api
from roost.api.artifacts import artifacts_router
from roost.api.errors import install_error_handlers
from roost.services.artifacts import MAX_ARTIFACT_BYTES, Artifacts
from roost.storage.artifacts import sha256
from roost.testing.memory_store import MemoryStore

HELLO = sha256(b"hello")
WORLD = sha256(b"world")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def client(store: MemoryStore) -> Iterator[TestClient]:
    app = FastAPI()
    install_error_handlers(app)
    app.include_router(artifacts_router(Artifacts(store)))
    with TestClient(app) as client:
        yield client


def test_bytes_go_in_and_come_out(client: TestClient) -> None:
    data = bytes(range(256)) * 1000
    name = sha256(data)
    stored = client.put(f"/api/artifacts/chunks/{name}", content=data)
    assert (stored.status_code, stored.content) == (204, b"")
    response = client.get(f"/api/artifacts/chunks/{name}")
    assert response.content == data
    assert response.headers["content-type"] == "application/octet-stream"


def test_a_body_that_comes_in_pieces(client: TestClient, store: MemoryStore) -> None:
    pieces = iter([b"he", b"", b"llo"])
    assert client.put(f"/api/artifacts/chunks/{HELLO}", content=pieces).status_code == 204
    assert store.objects == {("chunks", HELLO): b"hello"}


def test_what_is_missing(client: TestClient) -> None:
    client.put(f"/api/artifacts/chunks/{HELLO}", content=b"hello")
    response = client.post("/api/artifacts/chunks/missing", json={"names": [WORLD, HELLO]})
    assert response.json() == {"missing": [WORLD]}


def test_wrong_bytes_store_nothing(client: TestClient, store: MemoryStore) -> None:
    response = client.put(f"/api/artifacts/chunks/{HELLO}", content=b"world")
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request")
    assert store.objects == {}


def test_altered_bytes_are_named(client: TestClient, store: MemoryStore) -> None:
    client.put(f"/api/artifacts/chunks/{HELLO}", content=b"hello")
    store.objects["chunks", HELLO] = b"jello"
    response = client.get(f"/api/artifacts/chunks/{HELLO}")
    assert (response.status_code, response.json()["error"]["reason"]) == (500, "corrupt_artifact")
    assert HELLO in response.json()["error"]["message"]


def test_too_large_is_refused_as_declared_and_as_received(
    client: TestClient, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_ARTIFACT_BYTES == 64 * 1024 * 1024
    monkeypatch.setattr(artifacts_api, "MAX_ARTIFACT_BYTES", 10)
    for content in (b"x" * 11, iter([b"x" * 6, b"x" * 5])):
        response = client.put(f"/api/artifacts/bundles/{HELLO}", content=content)
        assert (response.status_code, response.json()["error"]["code"]) == (413, "payload_too_large")
    assert store.objects == {}
    assert client.put(f"/api/artifacts/bundles/{HELLO}", content=b"x" * 10).status_code == 204


def test_unknown_artifacts_kinds_and_names(client: TestClient) -> None:
    unknown = client.get(f"/api/artifacts/bundles/{HELLO}")
    assert (unknown.status_code, unknown.json()["error"]["reason"]) == (404, "artifact_not_found")
    kind = client.get(f"/api/artifacts/secrets/{HELLO}")
    assert (kind.status_code, kind.json()["error"]["code"]) == (422, "validation_error")
    for name in ("%2e%2e", "A" * 64, "storage-id", "a%00"):
        for response in (
            client.get(f"/api/artifacts/manifests/{name}"),
            client.put(f"/api/artifacts/manifests/{name}", content=b"x"),
        ):
            assert (response.status_code, response.json()["error"]["reason"]) == (400, "invalid_name")


def test_a_store_without_signed_urls_says_so(client: TestClient) -> None:
    asked = {"names": [HELLO], "method": "GET"}
    answer = client.post("/api/artifacts/chunks/urls", json=asked)
    assert answer.json() == {"urls": None, "headers": {}, "expiresS": 0.0}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"names": ["../storage-id"], "method": "GET"}, 400),
        ({"names": [HELLO] * 1001, "method": "PUT"}, 400),
        ({"names": [HELLO], "method": "DELETE"}, 422),
        ({"names": [HELLO]}, 422),
    ],
)
def test_urls_that_are_not_given(client: TestClient, body: dict[str, object], status: int) -> None:
    assert client.post("/api/artifacts/chunks/urls", json=body).status_code == status
