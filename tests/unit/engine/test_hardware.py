from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.engine.hardware import Advertised, Cards, advertise, fake_cards, measure_cards, parse_mib
from roost.engine.nvml import Card, Measured
from roost.errors import BadRequest

SMALL = Card("GPU-aa11", "RTX 3060", 12_288)
LARGE = Card("GPU-ab22", "RTX 4090", 24_564)
SPLIT = Card(
    "GPU-cc33",
    "A100",
    81_920,
    is_split=True,
    slices=(Card("MIG-s1", "A100 MIG 3g", 40_192), Card("MIG-s2", "A100 MIG 1g", 9_728)),
)


def measured(*cards: Card, **environment: str) -> Cards:
    return measure_cards(lambda: Measured(cards), environment)


def test_no_cards_are_zero_cards_and_say_why() -> None:
    cards = measure_cards(lambda: Measured(notes=("no NVIDIA driver",)), {})
    assert (cards.count, cards.mib, cards.notes) == (0, 0, ("no NVIDIA driver",))
    assert str(cards) == "no cards"


def test_equal_cards_are_counted() -> None:
    cards = measured(LARGE, Card("GPU-dd44", "RTX 4090", 24_564))
    assert (cards.count, cards.mib, cards.notes) == (2, 24_564, ())
    assert str(cards) == "2 x RTX 4090, 24564 MiB each"


def test_different_cards_count_as_the_smallest_and_say_so() -> None:
    cards = measured(SMALL, LARGE)
    assert (cards.count, cards.mib) == (2, 12_288)
    assert cards.notes == ("the cards differ (12288, 24564 MiB); each counts as the smallest",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("NoDevFiles", ()),
        ("-1", ()),
        ("2", ()),
        ("1", ("RTX 4090",)),
        (" 1 , 0 ", ("RTX 4090", "RTX 3060")),
        ("0,7,1", ("RTX 3060",)),  # CUDA stops at the first that is not there
        ("0,0,1", ("RTX 3060",)),
        ("GPU-aa", ("RTX 3060",)),
        ("GPU-ab22", ("RTX 4090",)),
        ("GPU-a", ()),  # names two
        ("MIG-s1", ()),
        ("all", ()),
        ("٣", ()),
    ],
)
def test_only_what_cuda_shows_is_counted(text: str, names: tuple[str, ...]) -> None:
    cards = measured(SMALL, LARGE, CUDA_VISIBLE_DEVICES=text, CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert (cards.count, cards.names) == (len(names), names)


@pytest.mark.parametrize(
    ("environment", "mib"),
    [
        ({"CUDA_VISIBLE_DEVICES": "1"}, 12_288),
        ({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, 24_564),
        ({"CUDA_VISIBLE_DEVICES": "GPU-ab22"}, 24_564),
    ],
)
def test_an_index_that_may_mean_another_card_counts_as_the_smallest(
    environment: dict[str, str], mib: int
) -> None:
    assert measured(SMALL, LARGE, **environment).mib == mib


def test_a_split_card_counts_as_one_of_its_smallest_slice() -> None:
    cards = measured(SPLIT)
    assert (cards.count, cards.mib) == (1, 9_728)
    assert cards.notes == ("a card in MIG mode counts as one of its smallest slice",)


def test_slices_that_are_named_are_cards() -> None:
    cards = measured(SPLIT, CUDA_VISIBLE_DEVICES="MIG-s1")
    assert (cards.count, cards.mib, cards.names) == (1, 40_192, ("A100 MIG 3g",))


def test_a_split_card_without_slices_is_none() -> None:
    assert measured(Card("GPU-ee", "A100", 81_920, is_split=True)).count == 0


@given(st.text(max_size=40))
def test_no_value_of_the_variable_fails_or_shows_more_than_is_there(text: str) -> None:
    cards = measured(SMALL, LARGE, SPLIT, CUDA_VISIBLE_DEVICES=text)
    assert 0 <= cards.count <= 5


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("12GiB", 12_288),
        ("24GB", 22_888),
        ("12288MiB", 12_288),
        ("1.5 GiB", 1_536),
        ("80gib", 81_920),
        (" 2MB ", 1),
    ],
)
def test_sizes_are_read(text: str, mib: int) -> None:
    assert parse_mib(text) == mib


@pytest.mark.parametrize(
    "text",
    ["", "12", "GiB", "12 TiB", "-1GiB", "0GiB", "0.5MiB", "1e3GiB", "12GiB,24GiB", "nanGiB", "99999999GiB"],
)
def test_malformed_sizes_are_refused_by_name(text: str) -> None:
    with pytest.raises(BadRequest, match="is not a size of a card") as caught:
        parse_mib(text)
    assert repr(text) in caught.value.message


@given(st.text(max_size=20))
def test_any_other_text_is_refused_or_gives_a_size_that_a_label_can_hold(text: str) -> None:
    try:
        mib = parse_mib(text)
    except BadRequest:
        return
    assert 1 <= mib <= 999_999_999


def test_fake_cards_are_one_of_each_size() -> None:
    cards = fake_cards(["12GiB", "24GiB"])
    assert (cards.count, cards.mib, cards.fake) == (2, 12_288, True)
    assert cards.notes == ("the cards differ; each counts as the smallest",)
    assert fake_cards([]).count == 0


CARDS_OF_24 = Cards(count=2, mib=24_576, names=("x", "x"))


@pytest.mark.parametrize(
    ("cards", "num_gpus", "expected"),
    [
        (Cards(), None, Advertised()),
        (Cards(), 0, Advertised(num_gpus=0)),
        (Cards(), 3, Advertised(num_gpus=3)),
        (CARDS_OF_24, None, Advertised(2, {"vram_mib": "24576"}, {"vram_mib": 49_152})),
        (CARDS_OF_24, 0, Advertised(num_gpus=0)),
        (CARDS_OF_24, 1, Advertised(1, {"vram_mib": "24576"}, {"vram_mib": 24_576})),
        (CARDS_OF_24, 5, Advertised(5, {"vram_mib": "24576"}, {"vram_mib": 49_152})),
    ],
)
def test_the_label_is_one_cards_memory_and_the_resource_all_of_it(
    cards: Cards, num_gpus: int | None, expected: Advertised
) -> None:
    assert advertise(cards, num_gpus) == expected


def test_what_is_advertised_is_said() -> None:
    assert str(advertise(CARDS_OF_24)) == "GPU=2, vram_mib=49152, label vram_mib=24576"
    assert str(advertise(Cards())) == "what Ray finds"
