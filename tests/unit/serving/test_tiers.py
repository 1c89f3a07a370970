"""Sizes of cards, and the share of one that is booked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.contracts.requirements import ModelRequirements
from roost.serving.tiers import card_mib, gpu_share, sizes, vram_mib, vram_mib_per_card
from roost.testing.gpu_nodes import gpu_node


@pytest.mark.parametrize(
    ("label", "mib"),
    [
        ("24576", 24576),
        ("1", 1),
        ("", None),
        ("0", None),
        ("-1", None),
        ("+1", None),
        ("024576", None),
        ("24 GB", None),
        ("24GiB", None),
        ("12288.5", None),
        ("1e4", None),
        ("24576\n", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_the_size_of_a_card_by_its_label(label: str, mib: int | None) -> None:
    assert card_mib({"vram_mib": label}) == mib


def test_sizes_are_told_once_and_smallest_first() -> None:
    nodes = [gpu_node(str(n), cards=1, card_mib=mib) for n, mib in enumerate((24576, 8192, 24576, 12288))]
    assert sizes([*nodes, gpu_node("none"), gpu_node("odd", cards=1, label="x")]) == [8192, 12288, 24576]
    assert card_mib({}) is None


def test_memory_is_whole_mib_and_spread_evenly() -> None:
    assert vram_mib(ModelRequirements(num_gpus=1, vram_gb=0.0001)) == 1
    odd = ModelRequirements(num_gpus=3, vram_gb=10)
    assert (vram_mib(odd), vram_mib_per_card(odd)) == (10240, 3414)
    assert vram_mib_per_card(ModelRequirements(num_gpus=0.5, vram_gb=10)) == 10240


@given(st.floats(0.0001, 1.0), st.integers(1, 100_000), st.data())
def test_a_share_is_what_is_filled_to_rays_grain(num_gpus: float, card: int, data: st.DataObject) -> None:
    filled = data.draw(st.integers(1, card))
    share = gpu_share(ModelRequirements(num_gpus=num_gpus, vram_gb=filled / 1024), card)
    as_ray_counts = round(share * 10_000)
    assert (as_ray_counts + 1) * card > filled * 10_000
    assert 1 <= as_ray_counts <= 10_000
    assert share >= num_gpus
    alone = gpu_share(ModelRequirements(num_gpus=0.0001, vram_gb=filled / 1024), card)
    at_once = min(card // filled, 10_000)
    assert at_once * round(alone * 10_000) <= 10_000  # as many as the memory holds share a card
