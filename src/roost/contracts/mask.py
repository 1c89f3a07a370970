"""Masks on the wire: COCO run-length encoding."""

from __future__ import annotations

from pydantic import Field

from roost.contracts.base import Wire


class CompressedRLE(Wire):
    """A binary mask as COCO's compressed run-length encoding.

    Attributes:
        size: Height and width in pixels.
        counts: COCO's compressed string of column-major run lengths.
    """

    size: list[int] = Field(min_length=2, max_length=2)
    counts: str
