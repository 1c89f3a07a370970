"""Models that do not fit together, called in turn; one that nobody asks; on one node, by memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2
import pytest

import roost
from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

TIMEOUT_S = 240
FAMILY = "scheduled"


@dataclass
class Node:
    """The only node, and models that take their share of its memory."""

    greeter: type
    memory_gib: float

    def deploy(self, suffix: str, share: float, **options: object) -> roost.Deployment:
        """Begin to deploy a model that needs this share."""
        needs = roost.ModelRequirements(ram_gb=share * self.memory_gib)
        roost.register_model(self.greeter, FAMILY, suffix, requirements=needs)
        return roost.deploy_model(FAMILY, suffix, "imported", **options)  # type: ignore[arg-type]


@pytest.fixture
def node(at: ServerProcess, project: Project) -> Iterator[Node]:
    (only,) = at.info().engine.nodes
    yield Node(project.load("greeter").Greeter, only.resources["memory"] / 1024**3)
    for deployment in roost.list_deployed_models():
        if deployment.family == FAMILY:
            roost.undeploy_model(deployment.key)


def call(deployment: roost.Deployment) -> int:
    return httpx2.get(f"{deployment.url}/greet/Ray", timeout=TIMEOUT_S).status_code


def phases() -> dict[str, str]:
    return {each.suffix: each.phase for each in roost.list_deployed_models() if each.family == FAMILY}


def kinds(deployment: roost.Deployment) -> list[str]:
    return [event.kind for event in roost.list_events(deployment.key) if event.kind in ("paused", "woken")]


def test_models_that_do_not_fit_together_take_turns(node: Node) -> None:
    """The pinned one, also least recently used, is never the victim; no request fails."""
    first = node.deploy("first", 0.6)
    pinned = node.deploy("pinned", 0.3, pinned=True)
    unused = node.deploy("unused", 0.0, idle_timeout_s=2)
    for deployment in (first, pinned, unused):
        roost.wait_for_model_serving(deployment.key, TIMEOUT_S)
    assert call(first) == 200

    second = node.deploy("second", 0.6, wait=True, timeout=TIMEOUT_S)
    assert phases() == {"first": "paused", "pinned": "running", "second": "running", "unused": "paused"}
    paused = roost.model_serving_status(first.key)
    assert paused.message == f"Paused to make room for {second.key}; the next request wakes it."
    assert roost.wait_for_model_serving(first.key, 0).phase == "paused"
    again = node.deploy("first", 0.6)
    assert (again.phase, again.generation) == ("paused", 1)

    assert [call(each) for each in (second, first, second, pinned)] == [200, 200, 200, 200]
    assert phases()["pinned"] == "running"
    assert kinds(first) == ["paused", "woken", "paused"]
    assert kinds(second) == ["paused", "woken"]
    assert kinds(pinned) == []

    message = roost.model_serving_status(unused.key).message
    assert message == "Paused after 2 s without a request; the next one wakes it."
    assert call(unused) == 200
    assert kinds(unused)[:2] == ["paused", "woken"]
