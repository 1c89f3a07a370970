"""Masks on the wire. The literal strings are those of COCO's own tools (pycocotools 2.0.11)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from roost.contracts.mask import MAX_COUNTS, CompressedRLE
from roost.contracts.run_lengths import decode_runs, encode_runs


def _ring() -> Any:
    mask = np.zeros((7, 40))
    mask[2:5, 10:14] = 1
    mask[3, 11] = 0
    return mask


def _bar() -> Any:
    mask = np.zeros((300, 200))
    mask[100:250, 20:23] = 1
    return mask


@pytest.mark.parametrize(
    ("mask", "counts"),
    [
        ([[0, 1, 1], [1, 1, 0]], "141"),
        ([[1]], "01"),
        ([[0, 0], [0, 0]], "4"),
        ([[1, 1], [1, 1]], "04"),
        (_ring(), "X234NM03200d5"),
        (_bar(), "dn5f4f4000Xhc1"),
    ],
)
def test_counts_are_those_of_coco(mask: Any, counts: str) -> None:
    encoded = CompressedRLE.from_numpy(mask)
    assert encoded.counts == counts
    assert np.array_equal(encoded.to_numpy(), np.asarray(mask) != 0)


@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=9))
def test_a_mask_comes_back_as_it_was(rows: list[list[bool]]) -> None:
    mask = np.array(rows)
    back = CompressedRLE.model_validate_json(CompressedRLE.from_numpy(mask).to_json()).to_numpy()
    assert back.dtype == bool
    assert np.array_equal(back, mask)


@given(st.lists(st.integers(0, 1 << 40), max_size=20))
def test_runs_come_back_as_they_were(runs: list[int]) -> None:
    assert decode_runs(encode_runs(runs)) == runs


@given(st.text(max_size=60))
def test_any_text_is_decoded_or_a_value_error(text: str) -> None:
    try:
        runs = decode_runs(text)
    except ValueError:
        return
    assert all(run >= 0 for run in runs)


def test_plain_run_lengths_and_bytes_are_taken() -> None:
    assert CompressedRLE.model_validate({"size": [2, 3], "counts": [1, 4, 1]}).counts == "141"
    assert CompressedRLE.model_validate({"size": [2, 3], "counts": b"141"}).counts == "141"


def test_no_mask_at_all() -> None:
    empty = CompressedRLE(size=[0, 0], counts="")
    assert empty.to_numpy().shape == (0, 0)


@pytest.mark.parametrize(
    ("size", "counts", "message"),
    [
        ([2, 3], "142", "run lengths add up to 7 pixels, 2 x 3 has 6"),
        ([2, 3], "", "run lengths add up to 0 pixels, 2 x 3 has 6"),
        ([0, 3], "", "size \\[0, 3\\] must be positive"),
        ([2], "141", "at least 2 items"),
        ([2, 3, 1], "141", "at most 2 items"),
        ([-1, -6], "141", "greater than or equal to 0"),
        ([65_536, 1], "141", "less than or equal to 65535"),
        ([2, 3], "14\x00", "run lengths are not valid at"),
        ([2, 3], "é", "run lengths are not valid at"),
        ([2, 3], "14Q", "run lengths end within a number"),
        ([2, 3], "o" * 20, "run lengths are not valid at"),
        ([2, 3], "N7", "run length -2 is below zero"),
        ([2, 3], [1, -4, 9], "whole numbers, 0 or above"),
        ([2, 3], [1.5, 4.5], "whole numbers, 0 or above"),
        ([2, 3], [0] * (MAX_COUNTS + 1), "at most 1000000 runs"),
        ([2, 3], "0" * (MAX_COUNTS + 1), "at most 1000000 items"),
    ],
)
def test_what_is_no_mask_is_refused_before_it_is_decoded(size: Any, counts: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CompressedRLE.model_validate({"size": size, "counts": counts})


def test_only_two_dimensions() -> None:
    with pytest.raises(ValueError, match="a mask has 2 dimensions, not 3"):
        CompressedRLE.from_numpy(np.zeros((1, 2, 3)))
