from __future__ import annotations

from pathlib import Path

import pytest

from roost.engine.embedded.command import object_store_size, start_command, start_environment
from roost.engine.embedded.state import ClusterState


@pytest.fixture
def state(tmp_path: Path) -> ClusterState:
    return ClusterState("c1", "secret", "b1", str(tmp_path), 20_000, "starting")


def test_the_token_is_never_on_the_command_line(state: ClusterState) -> None:
    command = start_command(state, num_cpus=None, num_gpus=None, object_store_bytes=1)
    assert "secret" not in " ".join(command)


def test_hardware_is_left_to_ray_unless_given(state: ClusterState) -> None:
    command = start_command(state, num_cpus=None, num_gpus=None, object_store_bytes=1)
    assert not [word for word in command if word.startswith(("--num-cpus", "--num-gpus"))]
    command = start_command(state, num_cpus=3, num_gpus=0, object_store_bytes=1)
    assert {"--num-cpus=3", "--num-gpus=0"} <= set(command)


def test_every_port_of_ray_is_given_and_lies_in_the_block(state: ClusterState) -> None:
    command = start_command(state, num_cpus=None, num_gpus=None, object_store_bytes=1)
    ports = dict(word[2:].split("=", 1) for word in command if "port=" in word)
    assert sorted(ports) == [
        "dashboard-agent-grpc-port",
        "dashboard-agent-listen-port",
        "dashboard-port",
        "max-worker-port",
        "metrics-export-port",
        "min-worker-port",
        "node-manager-port",
        "object-manager-port",
        "port",
        "ray-client-server-port",
        "runtime-env-agent-port",
    ]
    assert all(20_000 <= int(port) <= 20_499 for port in ports.values())
    assert len(set(ports.values())) == len(ports)


def test_secrets_of_the_server_and_addresses_of_other_clusters_stay_out(
    state: ClusterState, tmp_path: Path
) -> None:
    inherited = {
        "PATH": "/bin",
        "AWS_ACCESS_KEY_ID": "needed by replicas",
        "ROOST_API_KEYS": "k",
        "ROOST_DATABASE_URL": "postgresql://u:p@h/d",
        "ROOST_CACHE_DIR": "/cache",
        "RAY_ADDRESS": "ray://elsewhere",
        "RAY_AUTH_TOKEN": "of another cluster",
        "RAY_AUTH_TOKEN_PATH": "/elsewhere",
    }
    environment = start_environment(state, inherited, {"EXTRA": "1"}, tmp_path)
    assert environment["PATH"] == "/bin"
    assert environment["AWS_ACCESS_KEY_ID"] == "needed by replicas"
    assert environment["ROOST_CACHE_DIR"] == "/cache"
    assert environment["EXTRA"] == "1"
    assert environment["ROOST_CLUSTER_ID"] == "c1"
    assert environment["RAY_AUTH_TOKEN"] == "secret"
    assert not {"ROOST_API_KEYS", "ROOST_DATABASE_URL", "RAY_ADDRESS", "RAY_AUTH_TOKEN_PATH"} & set(
        environment
    )


def test_a_proxy_is_never_asked_for_loopback(state: ClusterState, tmp_path: Path) -> None:
    environment = start_environment(state, {"no_proxy": "corp.example"}, {}, tmp_path)
    assert environment["no_proxy"] == environment["NO_PROXY"] == "corp.example,127.0.0.1,localhost"


def test_the_object_store_is_bounded() -> None:
    size, _ = object_store_size()
    assert 100 * 1024**2 <= size <= 1024**3


def test_serve_takes_no_port_outside_the_block(state: ClusterState, tmp_path: Path) -> None:
    """Its fallback proxy would share Ray's default port with that of another cluster."""
    environment = start_environment(state, {}, {}, tmp_path)
    ports = {
        name: int(value)
        for name, value in environment.items()
        if name.startswith("RAY_SERVE_") and name.endswith("_PORT")
    }
    assert {"RAY_SERVE_FALLBACK_PROXY_HTTP_PORT", "RAY_SERVE_FALLBACK_PROXY_GRPC_PORT"} <= ports.keys()
    assert all(20_000 <= port <= 20_499 for port in ports.values())
    assert len(set(ports.values())) == len(ports)
