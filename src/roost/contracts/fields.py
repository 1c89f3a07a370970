"""Types of fields that several capabilities share."""

from __future__ import annotations

import math
from numbers import Real
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

MAX_MEDIA: Final = 4096
"""Most images or frames of one request."""


def _whole_pixels(value: Any) -> Any:
    # The published clients read boxes as integers; models give floats, NumPy's too.
    return [_whole(number) for number in value] if isinstance(value, (list, tuple)) else value


def _whole(number: Any) -> Any:
    if not isinstance(number, Real):
        return number
    if not math.isfinite(number):
        raise ValueError("a box must have finite numbers")
    return round(float(number))


def _nan_of_null(value: Any) -> Any:
    # JSON has no NaN: a score that is not a number is written, and read back, as null.
    return math.nan if value is None else value


Score = Annotated[float, Field(ge=0.0, le=1.0)]
"""A threshold."""

ModelScore = Annotated[float, BeforeValidator(_nan_of_null)]
"""A score as the model gave it; null on the wire when it is not finite."""

Box = Annotated[list[int], BeforeValidator(_whole_pixels), Field(min_length=4, max_length=4)]
"""`[x1, y1, x2, y2]` in pixels of the image, rounded, with x2 ≥ x1 and y2 ≥ y1."""

Pixel = Annotated[float, Field(allow_inf_nan=False)]
"""A place on an image, in pixels from its left or upper edge."""

Point = Annotated[list[Pixel], Field(min_length=2, max_length=2)]
"""`[x, y]` in pixels."""

PromptBox = Annotated[list[Pixel], Field(min_length=4, max_length=4)]
"""`[x1, y1, x2, y2]` in pixels, as a caller gives it."""

ImageSource = Annotated[str, Field(min_length=1)]
"""Base64 (also a data URI) of an encoded image, an http(s) URL, or a path inside a configured media root."""

Prompt = Literal["points", "box", "mask", "text"]
"""What a request may carry to name an object."""

Threshold = Literal["box", "text"]
"""A threshold that a request may set."""


def check_corners(box: list[float] | list[int]) -> None:
    """Make sure that a box is given by its upper left and lower right corner.

    Raises:
        ValueError: when it is not.
    """
    x1, y1, x2, y2 = box
    if x2 < x1 or y2 < y1:
        raise ValueError(f"box {box} must have x2 >= x1 and y2 >= y1")
