"""Arrays on the wire: shape, type and base64 of their bytes."""

from __future__ import annotations

import binascii
import math
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, model_validator

from roost.contracts.base import Wire

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    ArrayLike: TypeAlias = "NDArray | npt.ArrayLike"
    """An array on the wire, or what NumPy makes one of."""

DType = Literal[
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]

_ITEM_BYTES: Final[dict[str, int]] = {
    name: 1 if name == "bool" else int(name.lstrip("uintfloa")) // 8 for name in get_args(DType)
}


def _named(dtype: Any) -> Any:
    # The published clients may leave it out: they send 32-bit floats.
    return dtype or "float32"


class NDArray(Wire):
    """An array of numbers.

    Attributes:
        shape: At most 8 dimensions, none of them empty.
        dtype: NumPy's name of the type; 32-bit floats when it is not given.
        data: Base64 of the elements, little-endian, in C order.
    """

    shape: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=8)
    dtype: Annotated[DType, BeforeValidator(_named)] = "float32"
    data: str

    @model_validator(mode="after")
    def _check(self) -> NDArray:
        size = math.prod(self.shape) * _ITEM_BYTES[self.dtype]
        if len(self.data) != -(-size // 3) * 4:
            raise ValueError(
                f"an array of {self.shape} {self.dtype} has {size} bytes, "
                f"but there are {len(self.data)} characters of base64"
            )
        return self

    @classmethod
    def from_numpy(cls, array: npt.ArrayLike, dtype: DType | None = None) -> NDArray:
        """The wire form of an array, converted to `dtype` when one is given."""
        import numpy as np  # noqa: PLC0415  # the base install has no NumPy

        contiguous = np.ascontiguousarray(array, dtype=dtype)
        little = contiguous.astype(contiguous.dtype.newbyteorder("<"), copy=False)
        return cls.model_validate(
            {
                "shape": list(little.shape),
                "dtype": little.dtype.name,
                "data": binascii.b2a_base64(little.data, newline=False).decode(),
            }
        )

    def to_numpy(self) -> npt.NDArray[Any]:
        """The array: a copy of its own that can be written to.

        Raises:
            ValueError: when `data` is not base64.
        """
        import numpy as np  # noqa: PLC0415  # the base install has no NumPy

        elements: np.dtype[Any] = np.dtype(self.dtype).newbyteorder("<")
        decoded = bytearray(binascii.a2b_base64(self.data, strict_mode=True))
        return np.frombuffer(decoded, elements).astype(np.dtype(self.dtype), copy=False).reshape(self.shape)
