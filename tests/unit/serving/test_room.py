"""Whether a node has room, ever and now."""

from __future__ import annotations

from typing import Any

import pytest

from roost.contracts.info import NodeInfo
from roost.serving.placement import could_fit, fits_now, resources_of
from roost.serving.room import tier_of, with_replica
from roost.testing.gpu_nodes import GIB, gpu_node

OPTIONS: dict[str, Any] = {
    "num_cpus": 0.1,
    "num_gpus": 0.5,
    "memory": 2 * GIB,
    "resources": {"vram_mib": 8000},
    "label_selector": {"vram_mib": "12288"},
    "fallback_strategy": [{"label_selector": {"vram_mib": "24576"}}],
}


def node(card_mib: int = 24576, *, cards: int = 1, **more: Any) -> NodeInfo:
    return gpu_node("n", cards=cards, card_mib=card_mib, **more)


def test_the_resources_of_a_replica_by_rays_names() -> None:
    assert resources_of(OPTIONS) == {"CPU": 0.1, "GPU": 0.5, "memory": 2.0 * GIB, "vram_mib": 8000.0}
    assert resources_of({"num_cpus": 0, "num_gpus": 0}) == {}


@pytest.mark.parametrize(
    ("where", "tier"),
    [
        (node(12288), 0),
        (node(24576), 1),
        (node(49152), None),
        (node(label="24GiB"), None),
        (gpu_node("c"), None),
    ],
)
def test_the_tier_of_a_node(where: NodeInfo, tier: int | None) -> None:
    assert tier_of(OPTIONS, where) == tier
    assert could_fit(OPTIONS, where) is (tier is not None)
    assert tier_of({"num_cpus": 1}, where) == 0


@pytest.mark.parametrize(
    ("where", "ever", "now"),
    [
        (node(), True, True),
        (node(alive=False), False, False),
        (node(cpus=0.05), False, False),
        (node(ram_gib=1), False, False),
        (node(CPU=15.95), True, False),
        (node(CPU=15.9), True, True),
        (node(memory=63.0 * GIB), True, False),
        (node(vram_mib=17_000.0), True, False),
        (node(shares=(0.5,)), True, True),
        (node(shares=(0.6,)), True, False),
        (node(cards=2, shares=(0.6, 0.6)), True, False),
        (node(cards=2, shares=(0.6, 0.4)), True, True),
    ],
)
def test_ever_and_now(where: NodeInfo, ever: bool, now: bool) -> None:
    assert (could_fit(OPTIONS, where), fits_now(OPTIONS, where)) == (ever, now)


def test_two_cards_that_are_half_used_have_no_room_for_a_whole_one() -> None:
    whole = {"num_cpus": 0.1, "num_gpus": 1}
    assert not fits_now(whole, node(cards=2, GPU=1.0))
    assert not fits_now(whole, node(cards=2, shares=(0.6, 0.6)))
    assert fits_now(whole, node(cards=2, shares=(1.0,)))


def test_what_is_freed_counts_for_each_resource() -> None:
    full = node(shares=(1.0,), vram_mib=20_000.0, CPU=16.0)
    assert not fits_now(OPTIONS, full, {"GPU": 1.0, "vram_mib": 20_000.0})
    assert fits_now(OPTIONS, full, {"GPU": 1.0, "vram_mib": 20_000.0, "CPU": 0.1})
    assert not fits_now(OPTIONS, node(alive=False), {"CPU": 100.0})


def test_one_more_replica_is_counted() -> None:
    once = with_replica(node(), OPTIONS)
    assert once.used == {"CPU": 0.1, "GPU": 0.5, "memory": 2.0 * GIB, "vram_mib": 8000.0}
    assert once.used_gpu_shares == [0.5]
    assert fits_now(OPTIONS, once)
    assert not fits_now(OPTIONS, with_replica(once, OPTIONS))
    assert node().used == {}
