"""The routes of placement."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from roost.testing.in_process import URL, InProcessServer


def post(server: InProcessServer, path: str, body: Any) -> tuple[int, Any]:
    request = httpx2.Request("POST", f"{URL}/api/placement{path}", json=body)
    response = server.answer(request)
    return response.status_code, json.loads(response.read())


def test_requirements_are_explained(server: InProcessServer) -> None:
    status, body = post(server, "/explain", {"requirements": {"ram_gb": 4}})
    assert status == 200
    assert body["actorOptions"] == {"num_cpus": 0.1, "memory": 4294967296}
    assert body["needed"] == {"CPU": 0.1, "memory": 4294967296.0}
    (node,) = body["nodes"]
    assert (node["name"], node["fits"], node["couldFit"], node["reason"]) == ("node-one", True, True, "")
    assert node["free"] == {"CPU": 2.0, "memory": 8589934592.0}


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/explain", {}, 400, "bad_request"),
        ("/explain", {"key": "a/b/c", "requirements": {"ram_gb": 4}}, 400, "bad_request"),
        ("/explain", {"key": "a/b"}, 400, "invalid_name"),
        ("/explain", {"key": "a/b/c"}, 404, "model_not_found"),
        ("/explain", {"requirements": {"num_gpus": 1.5}}, 400, "invalid_requirements"),
        ("/explain", {"requirements": {"vram_gb": 4}}, 400, "invalid_requirements"),
        ("/explain", {"requirements": 1}, 422, "validation_failed"),
        ("/plan/a/b/c", {}, 404, "model_not_found"),
        ("/plan/a__/b/c", {}, 400, "invalid_name"),
        ("/plan/a/b/c", {"numReplicas": 0}, 422, "validation_failed"),
    ],
)
def test_refusals(server: InProcessServer, path: str, body: Any, status: int, reason: str) -> None:
    answered, told = post(server, path, body)
    error = told["error"]
    assert (answered, error.get("reason", error["code"])) == (status, reason)


def test_while_ray_is_away_no_node_is_told(server: InProcessServer) -> None:
    server.ray.away = True
    status, told = post(server, "/explain", {"requirements": {}})
    assert (status, told["error"]["reason"]) == (503, "engine_unavailable")
