"""Which cards have room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.contracts.info import NodeInfo
from roost.serving.cards import has_room
from roost.testing.gpu_nodes import gpu_node


def cards(count: int, *shares: float) -> NodeInfo:
    return gpu_node("n", cards=count, card_mib=24576, shares=shares)


def only_a_sum(count: int, used: float) -> NodeInfo:
    return gpu_node("n", cards=count, card_mib=24576, GPU=used)


@pytest.mark.parametrize(
    ("node", "gpus", "fits"),
    [
        (cards(2), 2, True),
        (cards(2), 3, False),
        (cards(2, 0.6, 0.6), 1, False),
        (cards(2, 0.6, 0.6), 0.4, True),
        (cards(2, 0.6, 0.6), 0.5, False),
        (cards(2, 0.5, 0.5), 1, True),
        (cards(2, 0.5, 0.25), 1, True),
        (cards(2, 1), 1, True),
        (cards(2, 1), 2, False),
        (cards(4, 2, 0.3), 1, True),
        (cards(4, 2, 0.3), 2, False),
        (cards(1, 0.3333, 0.3333, 0.3333), 0.0001, True),
        (cards(1, 0.3333, 0.3333, 0.3333), 0.0002, False),
        (cards(2, 0.4, 0.6, 0.6, 0.4), 0.0001, False),
        (gpu_node("none"), 0.1, False),
        (gpu_node("none"), 0, True),
    ],
)
def test_room_beside_known_shares(node: NodeInfo, gpus: float, fits: bool) -> None:
    assert has_room(node, gpus) is fits


@pytest.mark.parametrize(
    ("node", "gpus", "fits"),
    [
        (only_a_sum(2, 1.0), 1, False),  # each card may be half used
        (only_a_sum(2, 1.0), 0.5, True),
        (only_a_sum(2, 1.0), 0.6, False),
        (only_a_sum(1, 0.7), 0.3, True),
        (only_a_sum(1, 0.7), 0.4, False),
        (only_a_sum(2, 0.0), 2, True),
        (only_a_sum(2, 0.0), 3, False),
    ],
)
def test_room_beside_a_mere_sum_is_the_least_there_is(node: NodeInfo, gpus: float, fits: bool) -> None:
    assert has_room(node, gpus) is fits


@pytest.mark.parametrize(
    ("node", "freed", "gpus", "fits"),
    [
        (cards(1, 1), 1, 1, True),
        (cards(1, 0.5, 0.5), 0.5, 1, False),
        (cards(1, 0.5, 0.5), 1, 1, True),
        (cards(2, 0.6, 0.5, 0.5), 1.0, 1, True),  # not 0.6, which would leave 0.5 on both
        (cards(2, 1, 1), 1, 1, True),
        (cards(2, 1, 1), 1, 2, False),
        (cards(2, 1, 1), 2, 2, True),
        (cards(2, 0.6, 0.6), 0.5, 1, False),  # nobody has 0.5
        (only_a_sum(2, 1.0), 1.0, 2, True),
        (only_a_sum(2, 1.0), 0.5, 1, False),
    ],
)
def test_what_is_given_back(node: NodeInfo, freed: float, gpus: float, fits: bool) -> None:
    assert has_room(node, gpus, freed) is fits


shares = st.integers(1, 10_000).map(lambda units: units / 10_000)


@given(st.integers(1, 4), st.lists(st.tuples(shares, st.integers(0, 3)), max_size=12), shares)
def test_a_mere_sum_never_promises_a_card_that_is_not_there(
    count: int, wanted: list[tuple[float, int]], gpus: float
) -> None:
    free = [10_000] * count
    for share, at in wanted:
        if free[at % count] >= round(share * 10_000):
            free[at % count] -= round(share * 10_000)
    used = sum(10_000 - left for left in free) / 10_000
    if has_room(only_a_sum(count, used), gpus):
        assert max(free) >= round(gpus * 10_000)
