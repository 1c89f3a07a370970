from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from roost.contracts.array import NDArray


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array([True, False, True]),
        np.array([[1, -2]], dtype=np.int64),
        np.array([np.nan, np.inf], dtype=np.float64),
        np.arange(6, dtype=">f4").reshape(3, 2),
        np.arange(12, dtype=np.uint8).reshape(3, 4).T,
    ],
)
def test_an_array_comes_back_as_it_was(array: Any) -> None:
    back = NDArray.model_validate_json(NDArray.from_numpy(array).to_json()).to_numpy()
    assert (back.shape, back.dtype.name) == (array.shape, array.dtype.name)
    assert np.array_equal(back, array, equal_nan=array.dtype.kind == "f")
    back[...] = 0  # its own copy


def test_the_wire_form_is_little_endian_in_c_order() -> None:
    assert NDArray.from_numpy(np.array([[1, 2], [3, 4]], ">i2").T).model_dump() == {
        "shape": [2, 2],
        "dtype": "int16",
        "data": "AQADAAIABAA=",
    }


@pytest.mark.parametrize("dtype", ["", None])
def test_without_a_type_it_is_32_bit_floats(dtype: Any) -> None:
    array = NDArray.model_validate({"shape": [1], "dtype": dtype, "data": "AACAPw=="})
    assert array.to_numpy().tolist() == [1.0]


@pytest.mark.parametrize(
    ("shape", "dtype", "data", "message"),
    [
        ([], "float32", "", "at least 1 item"),
        ([0], "float32", "", "greater than or equal to 1"),
        ([-1], "float32", "", "greater than or equal to 1"),
        ([1] * 9, "float32", "AACAPw==", "at most 8 items"),
        ([2], "float32", "AACAPw==", "has 8 bytes, but there are 8 characters of base64"),
        ([10**9, 10**9], "float32", "AACAPw==", "bytes, but there are 8 characters"),
        ([1], "object", "AACAPw==", "Input should be 'bool'"),
        ([1], "<f4", "AACAPw==", "Input should be 'bool'"),
    ],
)
def test_what_is_no_array_is_refused(shape: Any, dtype: str, data: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NDArray.model_validate({"shape": shape, "dtype": dtype, "data": data})


def test_data_that_is_not_base64() -> None:
    with pytest.raises(ValueError, match="base64"):
        NDArray(shape=[1], data="!!!!!!==").to_numpy()
