from __future__ import annotations

from pathlib import Path

import pytest

from roost.engine.embedded.environment import start_environment
from roost.engine.embedded.state import ClusterState


@pytest.fixture
def state(tmp_path: Path) -> ClusterState:
    return ClusterState("c1", "secret", "b1", str(tmp_path), 20_000, "starting")


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


def test_only_a_cluster_on_loopback_is_kept_to_one_machine(state: ClusterState, tmp_path: Path) -> None:
    switch = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    assert start_environment(state, {}, {}, tmp_path)[switch] == "0"
    outer = ClusterState("c1", "secret", "b1", str(tmp_path), 20_000, "starting", host="10.0.0.5")
    environment = start_environment(outer, {}, {}, tmp_path)
    assert environment[switch] == "1"
    assert environment["no_proxy"] == "127.0.0.1,localhost,10.0.0.5"


def test_a_cluster_without_a_token_is_asked_without_one(tmp_path: Path) -> None:
    state = ClusterState("c1", "", "b1", str(tmp_path), 20_000, "starting")
    environment = start_environment(state, {"RAY_AUTH_TOKEN": "another"}, {}, tmp_path)
    assert environment["RAY_AUTH_MODE"] == "disabled"
    assert "RAY_AUTH_TOKEN" not in environment
