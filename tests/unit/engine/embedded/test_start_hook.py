from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from roost.engine.embedded.start_hook import prepare, prepare_on_loopback

Started = list[tuple[list[str], str, Any]]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The two modules of `ray start` that are touched, and what was started."""
    started: Started = []
    constants, services = ModuleType("constants"), ModuleType("services")
    vars(constants)["ENABLE_RAY_CLUSTER"] = False
    vars(services)["start_ray_process"] = lambda command, kind, fate_share: started.append(
        (command, kind, fate_share)
    )
    vars(services)["resolve_ip_for_localhost"] = lambda host: "10.0.0.5"
    monkeypatch.setitem(sys.modules, "ray._private.ray_constants", constants)
    monkeypatch.setitem(sys.modules, "ray._private.services", services)
    parameters = SimpleNamespace(
        ray_client_server_port=10001, no_monitor=False, dashboard_agent_listen_port=20_012
    )
    return SimpleNamespace(
        constants=vars(constants), services=vars(services), started=started, parameters=parameters
    )


def test_what_is_not_used_is_left_out(ray: SimpleNamespace) -> None:
    prepare(ray.parameters, head=True)
    assert (ray.parameters.ray_client_server_port, ray.parameters.no_monitor) == (None, True)


def test_the_raylet_alone_is_told_the_port_of_its_agent(ray: SimpleNamespace) -> None:
    prepare(ray.parameters, head=True)
    ray.services["start_ray_process"](["raylet", "--a"], "raylet", fate_share=True)
    ray.services["start_ray_process"](["gcs_server"], "gcs_server", False)
    assert ray.started == [
        (["raylet", "--a", "--dashboard_agent_listen_port=20012"], "raylet", True),
        (["gcs_server"], "gcs_server", False),
    ]


def test_the_head_is_started_as_ray_would(ray: SimpleNamespace) -> None:
    prepare(ray.parameters, head=True)
    assert ray.constants["ENABLE_RAY_CLUSTER"] is False
    assert ray.services["resolve_ip_for_localhost"]("127.0.0.1") == "10.0.0.5"


def test_a_node_that_joins_on_loopback_keeps_the_clusters_address(ray: SimpleNamespace) -> None:
    prepare_on_loopback(ray.parameters, head=False)
    assert ray.constants["ENABLE_RAY_CLUSTER"] is True
    assert ray.services["resolve_ip_for_localhost"]("127.0.0.1") == "127.0.0.1"
