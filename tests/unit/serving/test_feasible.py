"""What no node can ever hold is refused, naming what is needed and the nearest node."""

from __future__ import annotations

import pytest

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import Infeasible
from roost.serving.feasible import check_feasible
from roost.testing.gpu_nodes import gpu_node

SMALL = gpu_node("small", cpus=2, ram_gib=8)
N12 = gpu_node("12", cards=1, card_mib=12288)
N24 = gpu_node("24", cards=1, card_mib=24576)
N2X24 = gpu_node("2x24", cards=2, card_mib=24576)


def needs(num_gpus: float = 0, vram_gb: float = 0, ram_gb: float = 0) -> ModelRequirements:
    return ModelRequirements(num_gpus=num_gpus, vram_gb=vram_gb, ram_gb=ram_gb)


@pytest.mark.parametrize(
    ("requirements", "replica_cpus"),
    [
        (needs(), 0.1),
        (needs(), 16),
        (needs(ram_gb=64), 0.1),
        (needs(2, 48), 1),
        (needs(0.5, 24), 1),
        (needs(1, 24), 1),
    ],
)
def test_feasible_even_where_all_is_in_use(requirements: ModelRequirements, replica_cpus: float) -> None:
    full = N2X24.model_copy(update={"used": dict(N2X24.resources), "used_gpu_shares": [1.0, 1.0]})
    check_feasible(requirements, replica_cpus, [SMALL, full])


@pytest.mark.parametrize(
    ("requirements", "replica_cpus", "nodes", "message"),
    [
        (needs(), 3, [SMALL], "one replica needs 3 CPUs: no node has 3 CPUs; largest 2 ('small')."),
        (
            needs(1),
            0.1,
            [SMALL],
            "one replica needs 0.1 CPUs, 1 GPU: no node has 1 GPU; largest 0 ('small').",
        ),
        (
            needs(ram_gb=100),
            0.1,
            [SMALL, N2X24],
            "one replica needs 0.1 CPUs, 100 GiB of memory: "
            "no node has 100 GiB of memory; largest 64 ('2x24').",
        ),
        (
            needs(1, 40),
            0.1,
            [SMALL, N2X24],
            "one replica needs 0.1 CPUs, 1 GPU, 40960 MiB of GPU memory on one card, "
            "40960 MiB of GPU memory in all (resource vram_mib): "
            "no node has 40960 MiB of GPU memory on one card; largest 24576 ('2x24').",
        ),
        (
            needs(2, 20),
            0.1,
            [N12, N24],
            "one replica needs 0.1 CPUs, 2 GPUs, 10240 MiB of GPU memory on each of 2 cards, "
            "20480 MiB of GPU memory in all (resource vram_mib): no node has 2 GPUs; largest 1 ('12').",
        ),
        (
            needs(1, 20, ram_gb=100),
            0.1,
            [gpu_node("memory", ram_gib=128), N24],
            "one replica needs 0.1 CPUs, 1 GPU, 100 GiB of memory, 20480 MiB of GPU memory on one card, "
            "20480 MiB of GPU memory in all (resource vram_mib): "
            "no node has all of it; nearest is '24' with 64 of 100 GiB of memory.",
        ),
        (
            needs(3, ram_gb=100),
            0.1,
            [N24, N2X24],
            "one replica needs 0.1 CPUs, 3 GPUs, 100 GiB of memory: "
            "no node has 3 GPUs; largest 2 ('2x24'); no node has 100 GiB of memory; largest 64 ('24').",
        ),
        (needs(), 0.1, [gpu_node("dead", alive=False)], "no node of the cluster is alive."),
        (needs(), 0.1, [], "no node of the cluster is alive."),
    ],
)
def test_infeasible(
    requirements: ModelRequirements, replica_cpus: float, nodes: list[NodeInfo], message: str
) -> None:
    with pytest.raises(Infeasible) as raised:
        check_feasible(requirements, replica_cpus, nodes)
    assert raised.value.message == message
    assert raised.value.hint


def test_each_node_is_told_in_the_context() -> None:
    odd = gpu_node("odd", cards=1, card_mib=49152, label="48GiB")
    with pytest.raises(Infeasible) as raised:
        check_feasible(needs(1, 40), 0.1, [SMALL, N2X24, odd, gpu_node("dead", alive=False)])
    assert raised.value.context == {
        "nodes": {
            "small": "0 of 1 GPU, 0 of 40960 MiB of GPU memory on one card, "
            "0 of 40960 MiB of GPU memory in all (resource vram_mib)",
            "2x24": "24576 of 40960 MiB of GPU memory on one card",
            "odd": "0 of 40960 MiB of GPU memory on one card",
        }
    }
