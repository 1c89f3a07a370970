from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from roost.engine.embedded.start_hook import join_on_loopback
from roost.engine.embedded.state import ClusterState
from roost.engine.hardware import Advertised
from roost.engine.node.command import join_command, join_environment


def node(tmp_path: Path, host: str) -> ClusterState:
    return ClusterState("n1", "secret", "b1", str(tmp_path), 20_500, "starting", host=host)


def test_the_command_joins_with_ports_of_its_own_block_and_without_the_token(tmp_path: Path) -> None:
    command = join_command(
        node(tmp_path, "10.0.0.6"),
        address="10.0.0.5:20000",
        name="gpu-1",
        num_cpus=4,
        advertised=Advertised(2, {"vram_mib": "24576"}, {"vram_mib": 49_152}),
        object_store_bytes=1,
    )
    expected = {
        "--address=10.0.0.5:20000",
        "--node-name=gpu-1",
        "--node-ip-address=10.0.0.6",
        "--num-cpus=4",
        "--num-gpus=2",
        "--labels=vram_mib=24576",
        '--resources={"vram_mib": 49152}',
    }
    assert expected <= set(command)
    assert "--head" not in command
    assert "secret" not in " ".join(command)
    ports = [int(word.split("=")[1]) for word in command if "-port=" in word]
    assert len(ports) == 9
    assert all(20_500 <= port <= 20_999 for port in ports)


def test_serve_is_set_up_as_on_the_head(tmp_path: Path) -> None:
    environment = join_environment(node(tmp_path, "10.0.0.6"), {"RAY_ADDRESS": "elsewhere"}, {}, tmp_path)
    assert environment["RAY_SERVE_THROUGHPUT_OPTIMIZED"] == "1"
    assert environment["RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S"] == "8"
    assert environment["ROOST_CLUSTER_ID"] == "n1"
    assert environment["RAY_AUTH_TOKEN"] == "secret"
    assert "RAY_ADDRESS" not in environment


@pytest.mark.parametrize(
    ("host", "hook", "many_machines"),
    [("127.0.0.1", "join_on_loopback", "0"), ("10.0.0.6", "keep_lean", "1")],
)
def test_only_on_loopback_ray_is_talked_out_of_its_refusal(
    tmp_path: Path, host: str, hook: str, many_machines: str
) -> None:
    environment = join_environment(node(tmp_path, host), {}, {}, tmp_path)
    assert environment["RAY_START_HOOK"] == f"roost.engine.embedded.start_hook.{hook}"
    assert environment["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == many_machines


def test_the_hook_keeps_the_clusters_loopback_address(monkeypatch: pytest.MonkeyPatch) -> None:
    constants, services = ModuleType("constants"), ModuleType("services")
    vars(constants)["ENABLE_RAY_CLUSTER"] = False
    monkeypatch.setitem(sys.modules, "ray._private.ray_constants", constants)
    monkeypatch.setitem(sys.modules, "ray._private.services", services)
    parameters = SimpleNamespace(ray_client_server_port=10001, no_monitor=False)
    join_on_loopback(parameters, head=False)
    assert vars(constants)["ENABLE_RAY_CLUSTER"] is True
    assert vars(services)["resolve_ip_for_localhost"]("127.0.0.1") == "127.0.0.1"
    assert (parameters.ray_client_server_port, parameters.no_monitor) == (None, True)
