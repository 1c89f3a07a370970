"""Probes, the documents of the API, and errors of the server's own routes."""

from __future__ import annotations

import httpx2
import pytest

import roost
from roost.testing.server_process import ServerProcess


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_the_probes(at: ServerProcess, prefix: str) -> None:
    assert httpx2.get(f"{at.url}{prefix}/health").json() == {"status": "healthy"}
    ready = httpx2.get(f"{at.url}{prefix}/ready")
    assert ready.status_code == 200
    assert ready.json() == {
        "ready": True,
        "models": {},
        "models_loaded": 0,
        "version": roost.__version__,
        "message": "",
    }
    info = httpx2.get(f"{at.url}{prefix}/info").json()
    assert (info["appName"], info["numNodes"], info["numGpus"]) == ("Roost", 1, 0.0)
    assert info["numCpus"] > 0


def test_the_server_says_where_everything_is(at: ServerProcess) -> None:
    info = at.info()
    assert (info.pid, info.url, info.home) == (at.process.pid, at.url, str(at.home))
    assert info.storage.url == (at.home / "storage").as_uri()
    assert info.database == f"sqlite:///{at.home}/roost.db"
    assert (info.engine.state, info.engine.embedded) == ("ready", True)
    assert info.engine.log_dir is not None


def test_nothing_listens_beyond_loopback_but_what_ray_cannot_bind_there(at: ServerProcess) -> None:
    """Each replica of Ray Serve opens a gRPC port on all interfaces; `roost doctor` warns of it."""
    shown = httpx2.get(f"{at.url}/api/info", params={"exposed": True}, timeout=30).json()
    others = [port for port in shown["engine"]["exposed"] if not port.startswith("ray::ServeReplica")]
    assert others == []


def test_the_documents(at: ServerProcess) -> None:
    assert "swagger-ui" in httpx2.get(f"{at.url}/docs").text
    paths = httpx2.get(f"{at.url}/openapi.json").json()["paths"]
    for path in ("/v1/inference/detection", "/v1/inference/detection/binary", "/v1/models", "/api/models"):
        assert path in paths


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/nowhere", 404, "not_found"),
        ("DELETE", "/v1/health", 405, "method_not_allowed"),
        ("GET", "/v1/inference/detection", 405, "method_not_allowed"),
        ("GET", "/api/models/a__b/c/d", 400, "bad_request"),
        ("GET", "/api/models/a/b/%2e%2e", 400, "bad_request"),
    ],
)
def test_errors_come_in_the_envelope(
    at: ServerProcess, method: str, path: str, status: int, code: str
) -> None:
    answer = httpx2.request(method, f"{at.url}{path}", headers={"X-Request-ID": "e2e-1"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers["x-request-id"] == answer.json()["error"]["requestId"] == "e2e-1"
