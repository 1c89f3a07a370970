from __future__ import annotations

from pathlib import Path

import pytest

from roost.engine.embedded.command import object_store_size, start_command
from roost.engine.embedded.state import ClusterState
from roost.engine.hardware import Advertised


@pytest.fixture
def state(tmp_path: Path) -> ClusterState:
    return ClusterState("c1", "secret", "b1", str(tmp_path), 20_000, "starting")


def test_the_token_is_never_on_the_command_line(state: ClusterState) -> None:
    command = start_command(state, num_cpus=None, advertised=Advertised(), object_store_bytes=1)
    assert "secret" not in " ".join(command)


def test_hardware_is_left_to_ray_unless_given(state: ClusterState) -> None:
    command = start_command(state, num_cpus=None, advertised=Advertised(), object_store_bytes=1)
    unknown = ("--num-cpus", "--num-gpus", "--resources", "--labels")
    assert not [word for word in command if word.startswith(unknown)]
    command = start_command(state, num_cpus=3, advertised=Advertised(0), object_store_bytes=1)
    assert {"--num-cpus=3", "--num-gpus=0"} <= set(command)


def test_every_port_of_ray_is_given_and_lies_in_the_block(state: ClusterState) -> None:
    command = start_command(state, num_cpus=None, advertised=Advertised(), object_store_bytes=1)
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


def test_cards_are_advertised_as_label_and_resource(state: ClusterState) -> None:
    cards = Advertised(2, {"vram_mib": "24576"}, {"vram_mib": 49_152})
    command = start_command(state, num_cpus=None, advertised=cards, object_store_bytes=1)
    assert {"--num-gpus=2", "--labels=vram_mib=24576", '--resources={"vram_mib": 49152}'} <= set(command)


def test_the_node_has_the_clusters_address_and_the_dashboard_stays_on_loopback(tmp_path: Path) -> None:
    state = ClusterState("c1", "secret", "b1", str(tmp_path), 20_000, "starting", host="10.0.0.5")
    command = start_command(state, num_cpus=None, advertised=Advertised(), object_store_bytes=1)
    assert {"--node-ip-address=10.0.0.5", "--dashboard-host=127.0.0.1"} <= set(command)


def test_the_object_store_is_bounded() -> None:
    size, _ = object_store_size()
    assert 100 * 1024**2 <= size <= 1024**3
