"""What a replica asks for on nodes with cards of 12, 24 and 2 x 24 GiB, and where it then goes."""

from __future__ import annotations

from typing import Any

import pytest

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.serving.forecast import place_replicas
from roost.serving.placement import actor_options, is_placed
from roost.testing.gpu_nodes import gpu_node

CPU_ONLY = gpu_node("cpu")
N12 = gpu_node("12", cards=1, card_mib=12288)
N24 = gpu_node("24", cards=1, card_mib=24576)
N2X24 = gpu_node("2x24", cards=2, card_mib=24576)
ALL = [N2X24, N24, CPU_ONLY, N12]

ON_12 = {"vram_mib": "12288"}
ON_24 = {"vram_mib": "24576"}
MIB_8000 = 8000 / 1024


def needs(num_gpus: float = 0, vram_gb: float = 0, ram_gb: float = 0) -> ModelRequirements:
    return ModelRequirements(num_gpus=num_gpus, vram_gb=vram_gb, ram_gb=ram_gb)


@pytest.mark.parametrize(
    ("requirements", "nodes", "options"),
    [
        pytest.param(needs(), ALL, {}, id="CPUs only: anywhere"),
        pytest.param(needs(ram_gb=1.5), ALL, {"memory": 1610612736}, id="memory: anywhere"),
        pytest.param(needs(0.3), ALL, {"num_gpus": 0.3}, id="a share without memory: any card"),
        pytest.param(
            needs(0.25, MIB_8000),
            ALL,
            {
                "num_gpus": 0.6511,
                "resources": {"vram_mib": 8000},
                "label_selector": ON_12,
                "fallback_strategy": [{"label_selector": ON_24}],
            },
            id="a share grows to the memory's of the smallest card",
        ),
        pytest.param(
            needs(0.75, MIB_8000),
            [N12, N24],
            {
                "num_gpus": 0.75,
                "resources": {"vram_mib": 8000},
                "label_selector": ON_12,
                "fallback_strategy": [{"label_selector": ON_24}],
            },
            id="a larger share stays",
        ),
        pytest.param(
            needs(0.25, MIB_8000),
            [N24, N2X24],
            {"num_gpus": 0.3256, "resources": {"vram_mib": 8000}, "label_selector": ON_24},
            id="one size: no fallback, and its share",
        ),
        pytest.param(
            needs(0.5, 12),
            [N24],
            {"num_gpus": 0.5, "resources": {"vram_mib": 12288}, "label_selector": ON_24},
            id="half a card is exactly half",
        ),
        pytest.param(
            needs(0.5, 20),
            ALL,
            {"num_gpus": 0.8334, "resources": {"vram_mib": 20480}, "label_selector": ON_24},
            id="the smaller card could not hold it",
        ),
        pytest.param(
            needs(0.1, 24),
            ALL,
            {"num_gpus": 1.0, "resources": {"vram_mib": 24576}, "label_selector": ON_24},
            id="a share that fills the card",
        ),
        pytest.param(
            needs(1, 8),
            ALL,
            {
                "num_gpus": 1,
                "resources": {"vram_mib": 8192},
                "label_selector": ON_12,
                "fallback_strategy": [{"label_selector": ON_24}],
            },
            id="a whole card",
        ),
        pytest.param(
            needs(2, 40),
            ALL,
            {"num_gpus": 2, "resources": {"vram_mib": 40960}, "label_selector": ON_24},
            id="two cards of 20 GiB each",
        ),
        pytest.param(
            needs(1, 40), ALL, {"num_gpus": 1, "resources": {"vram_mib": 40960}}, id="infeasible: no selector"
        ),
        pytest.param(
            needs(0.5, 8), [], {"num_gpus": 0.5, "resources": {"vram_mib": 8192}}, id="nodes are not known"
        ),
        pytest.param(
            needs(0.5, 8, ram_gb=65),
            [N12, gpu_node("big", cards=1, card_mib=24576, ram_gib=128)],
            {
                "num_gpus": 0.5,
                "memory": 65 * 1024**3,
                "resources": {"vram_mib": 8192},
                "label_selector": ON_24,
            },
            id="a node that is short of something else gives no size",
        ),
        pytest.param(
            needs(1, 8),
            [gpu_node("dead", cards=1, card_mib=8192, alive=False), N24],
            {"num_gpus": 1, "resources": {"vram_mib": 8192}, "label_selector": ON_24},
            id="a dead node gives no size",
        ),
    ],
)
def test_what_is_asked_of_ray(
    requirements: ModelRequirements, nodes: list[NodeInfo], options: dict[str, Any]
) -> None:
    assert actor_options(requirements, 0.1, nodes) == {"num_cpus": 0.1, **options}


@pytest.mark.parametrize("label", ["24GiB", "", "-1", "0", "1e4", "12288.5", " 24576", "٢٤", "9" * 5000])
def test_malformed_labels_are_skipped(label: str) -> None:
    odd = gpu_node("odd", cards=1, card_mib=9000, label=label)
    options = actor_options(needs(1, 8), 0.1, [odd, N24])
    assert options["label_selector"] == ON_24
    assert "fallback_strategy" not in options
    assert "label_selector" not in actor_options(needs(1, 8), 0.1, [odd])


@pytest.mark.parametrize(
    ("requirements", "nodes", "places"),
    [
        pytest.param(
            needs(0.25, MIB_8000),
            ALL,
            ["12", "24", "2x24", "2x24", None],
            id="shares of 8,000 MiB: booked by the smallest card, they have each card alone",
        ),
        pytest.param(
            needs(0.25, MIB_8000),
            [N24, N2X24],
            ["24", "24", "24", *["2x24"] * 6, None],
            id="shares of 8,000 MiB: three to a card of 24 GiB",
        ),
        pytest.param(needs(0.5, MIB_8000), [N12], ["12", None], id="two halves of 8,000 MiB oversell 12 GiB"),
        pytest.param(needs(0.1, 8), [N24], ["24", "24", "24", None], id="three thirds of a card share it"),
        pytest.param(needs(0.1, 4), [N24], ["24"] * 6 + [None], id="six sixths"),
        pytest.param(needs(0.1, 3510 / 1024), [N24], ["24"] * 7 + [None], id="seven that just fit"),
        pytest.param(needs(0.5, 6), [N12], ["12", "12", None], id="two halves of 6 GiB do not"),
        pytest.param(needs(1, 8), ALL, ["12", "24", "2x24", "2x24", None], id="whole cards"),
        pytest.param(needs(2, 40), ALL, ["2x24", None], id="two cards"),
        pytest.param(needs(1), [N12, N2X24], ["12", "2x24", "2x24", None], id="whole cards, no memory"),
        pytest.param(needs(0.5), [N12], ["12", "12", None], id="halves, no memory"),
        pytest.param(needs(ram_gb=40), [CPU_ONLY, N12], ["12", "cpu", None], id="memory is used up, too"),
    ],
)
def test_where_replicas_go_one_after_the_other(
    requirements: ModelRequirements, nodes: list[NodeInfo], places: list[str | None]
) -> None:
    options = actor_options(requirements, 0.1, nodes)
    planned = place_replicas(options, len(places), nodes)
    assert [replica.node_name for replica in planned] == places


def test_a_full_small_card_is_passed_over() -> None:
    full = gpu_node("12", cards=1, card_mib=12288, shares=(1.0,), vram_mib=9000.0)
    options = actor_options(needs(0.5, 6), 0.1, [full, N24])
    assert options["label_selector"] == ON_12
    assert [replica.node_name for replica in place_replicas(options, 1, [full, N24])] == ["24"]


def test_a_replica_without_room_says_what_it_waits_for() -> None:
    full = gpu_node("full", cards=1, card_mib=24576, shares=(1.0,))
    options = actor_options(needs(1, 20), 0.1, [full, N12])
    (planned,) = place_replicas(options, 1, [full, N12])
    assert (planned.node_id, planned.node_name, planned.waits_for) == (None, None, ["full"])


def test_what_is_freed_makes_room() -> None:
    full = gpu_node("full", cards=1, card_mib=24576, shares=(1.0,), vram_mib=20480.0)
    options = actor_options(needs(1, 20), 0.1, [full])
    freed = {"id-full": {"GPU": 1.0, "vram_mib": 20480.0}}
    assert [replica.node_name for replica in place_replicas(options, 2, [full], freed)] == ["full", None]


def test_a_need_of_gpu_memory_is_placed_once_cards_are_known() -> None:
    assert not is_placed(actor_options(needs(1, 8), 0.1))
    assert is_placed(actor_options(needs(1, 8), 0.1, [N12]))
    assert is_placed(actor_options(needs(1), 0.1))
