"""Per node: what is needed, what is free, whether it fits and why not."""

from __future__ import annotations

from typing import Any

import pytest

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.serving.explain import explain_nodes, share_reason, tiers_of
from roost.serving.placement import actor_options
from roost.testing.gpu_nodes import GIB, gpu_node

HALF = ModelRequirements(num_gpus=0.5, vram_gb=8, ram_gb=4)
N12 = gpu_node("12", cards=1, card_mib=12288)
N24 = gpu_node("24", cards=1, card_mib=24576)
N2X24 = gpu_node("2x24", cards=2, card_mib=24576)


def explained(
    nodes: list[NodeInfo], requirements: ModelRequirements = HALF, options: dict[str, Any] | None = None
) -> list[tuple[str, str, str]]:
    chosen = options or actor_options(requirements, 0.1, nodes)
    return [
        (fit.name, "now" if fit.fits else "later" if fit.could_fit else "never", fit.reason)
        for fit in explain_nodes(chosen, requirements, nodes)
    ]


def test_nodes_come_in_the_order_in_which_ray_tries_them() -> None:
    dead = gpu_node("a-dead", cards=1, card_mib=12288, alive=False)
    assert explained([dead, N2X24, N24, N12]) == [
        ("12", "now", ""),
        ("24", "now", ""),
        ("2x24", "now", ""),
        ("a-dead", "never", "The node is dead."),
    ]


@pytest.mark.parametrize(
    ("node", "fits", "reason"),
    [
        (gpu_node("cpu"), "never", "It has no label vram_mib."),
        (
            gpu_node("odd", cards=1, card_mib=24576, label="24GiB"),
            "never",
            "Its label vram_mib='24GiB' is no number of MiB.",
        ),
        (
            gpu_node("small", cards=2, card_mib=6144),
            "never",
            "Too small: it has 6144 of 8192 MiB of GPU memory on one card.",
        ),
        (
            gpu_node("poor", cards=1, card_mib=24576, ram_gib=2),
            "never",
            "Too small: it has 2 of 4 GiB of memory.",
        ),
        (
            gpu_node("full", cards=1, card_mib=12288, shares=(0.6667,), vram_mib=8192.0, memory=62.0 * GIB),
            "later",
            "Full: 0.3333 GPU free, 2 GiB of memory free, 4096 MiB of GPU memory free.",
        ),
        (
            gpu_node("scattered", cards=2, card_mib=12288, shares=(0.6, 0.6)),
            "later",
            "Full: no card has 0.6667 GPUs free.",
        ),
    ],
)
def test_why_not(node: NodeInfo, fits: str, reason: str) -> None:
    found = {name: (when, why) for name, when, why in explained([N12, node])}
    assert found == {"12": ("now", ""), node.name: (fits, reason)}


def test_free_cards_that_are_none() -> None:
    whole = ModelRequirements(num_gpus=1)
    node = gpu_node("n", cards=2, card_mib=24576, shares=(0.4, 0.55), label="")
    taken = node.model_copy(update={"used": {"GPU": 0.95}, "used_gpu_shares": []})
    assert explained([node], whole) == [("n", "now", "")]
    assert explained([taken], whole) == [("n", "later", "Full: its free GPUs are shares of cards.")]


def test_a_size_that_joined_after_the_deploy_is_not_tried() -> None:
    options = actor_options(HALF, 0.1, [N12])
    assert explained([N12, N24], options=options) == [
        ("12", "now", ""),
        ("24", "never", "Cards of 24576 MiB were not there when it was deployed; it takes 12288."),
    ]


def test_what_nobody_can_hold_is_told_of_each() -> None:
    assert explained([N2X24], ModelRequirements(num_gpus=1, vram_gb=40)) == [
        ("2x24", "never", "Too small: it has 24576 of 40960 MiB of GPU memory on one card.")
    ]


def test_amounts_are_of_what_is_needed() -> None:
    node = gpu_node("n", cards=1, card_mib=12288, shares=(1.0,), vram_mib=12288.0)
    (fit,) = explain_nodes(actor_options(HALF, 0.1, [node]), HALF, [node])
    assert fit.needed == {"CPU": 0.1, "GPU": 0.6667, "memory": 4.0 * GIB, "vram_mib": 8192.0}
    assert fit.free == {"CPU": 16.0, "GPU": 0.0, "memory": 64.0 * GIB, "vram_mib": 0.0}
    assert fit.total == {"CPU": 16.0, "GPU": 1.0, "memory": 64.0 * GIB, "vram_mib": 12288.0}
    assert (fit.card_mib, fit.tier) == (12288, 0)


def test_sizes_are_told_in_order() -> None:
    assert tiers_of(actor_options(HALF, 0.1, [N24, N12])) == [12288, 24576]
    assert tiers_of({"num_cpus": 1}) == []


@pytest.mark.parametrize(
    ("requirements", "nodes", "told"),
    [
        (HALF, [N24, N12], "0.6667 GPU instead of 0.5: 8192 MiB are that share of a card of 12288 MiB, "),
        (HALF, [N24], ""),
        (HALF, [gpu_node("cpu")], ""),
        (ModelRequirements(num_gpus=1, vram_gb=8), [N12], ""),
        (ModelRequirements(num_gpus=0.5), [N12], ""),
        (ModelRequirements(), [N12], ""),
    ],
)
def test_another_share_than_was_asked_for_is_told(
    requirements: ModelRequirements, nodes: list[NodeInfo], told: str
) -> None:
    reason = share_reason(actor_options(requirements, 0.1, nodes), requirements)
    assert reason.startswith(told)
    assert bool(reason) == bool(told)
