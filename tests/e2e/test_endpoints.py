"""A class with endpoints on a real Ray: its clients, its streams, and what they see of a killed replica."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import roost
from roost.errors import ModelError, Unavailable, ValidationFailed
from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

TIMEOUT_S = 240


def test_endpoints_from_registration_to_a_killed_replica(at: ServerProcess, project: Project) -> None:
    teller = project.load("teller")
    model = roost.register_model(teller.Teller, "teller", "endpoints", config={"word": "Hi"})
    deployment = roost.deploy_model(model.family, model.suffix, model.run_name, wait=True, timeout=TIMEOUT_S)
    try:
        client = deployment.client(teller.Teller, timeout_s=TIMEOUT_S)
        greeting = client.greet("Ada", times=2)
        assert greeting == teller.Greeting("Hi Ada, Hi Ada", greeting.pid)
        check_plain_calls(deployment)
        check_streams(deployment, client, teller.BREAKS)
        asyncio.run(check_async_client(deployment, teller))
        check_cut(client, greeting.pid)
    finally:
        roost.undeploy_model(deployment.key)


def check_plain_calls(deployment: roost.Deployment) -> None:
    """As any program calls it."""
    with httpx2.Client(timeout=TIMEOUT_S) as http:
        answer = http.post(f"{deployment.url}/greet", json={"name": "Bob"})
        assert (answer.status_code, answer.json()["text"]) == (200, "Hi Bob")
        bad = http.post(f"{deployment.url}/greet", json={"nam": "Bob", "times": "x"})
        assert (bad.status_code, bad.json()["error"]["code"]) == (422, "validation_error")
        assert [issue["loc"] for issue in bad.json()["error"]["issues"]] == [["name"], ["times"], ["nam"]]
        failed = http.post(f"{deployment.url}/fail")
        assert (failed.status_code, failed.json()["error"]["code"]) == (500, "model_error")
        assert failed.headers.get_list("x-request-id") == [failed.json()["error"]["requestId"]]
        assert "secret" not in failed.text
        described = http.get(f"{deployment.url}/openapi.json").json()
        assert {"/greet", "/fail", "/lines", "/tell"} <= set(described["paths"])


def check_streams(deployment: roost.Deployment, client: Any, breaks: str) -> None:
    assert list(client.lines(3)) == [f"{number}{breaks}" for number in range(3)]
    untyped = deployment.client(timeout_s=TIMEOUT_S)
    assert list(untyped.lines(count=1)) == [f"0{breaks}"]
    with pytest.raises(ValidationFailed, match="'count': Input should be a valid integer"):
        list(untyped.lines("many"))
    with closing(client.tell()) as items:
        assert next(items) == 0  # it is there though the stream goes on
    assert client.wait_left() is True


async def check_async_client(deployment: roost.Deployment, teller: Any) -> None:
    async with deployment.async_client(teller.Teller, timeout_s=TIMEOUT_S) as client:
        greetings = await asyncio.gather(*(client.greet(name) for name in ("Ada", "Bob")))
        assert [greeting.text for greeting in greetings] == ["Hi Ada", "Hi Bob"]
        assert [line async for line in client.lines(1)] == [f"0{teller.BREAKS}"]
        with pytest.raises(ModelError, match="raised RuntimeError"):
            await client.fail()


def check_cut(client: Any, pid: int) -> None:
    items = client.tell()
    assert next(items) == 0
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Unavailable, match="was cut"):
        next(items)
