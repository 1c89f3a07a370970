"""Masks on the wire: COCO run-length encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field, model_validator

from roost.contracts.base import Wire
from roost.contracts.run_lengths import decode_runs, encode_runs

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_SIDE: Final = 65_535
MAX_COUNTS: Final = 1_000_000
"""Most characters, or runs, of one mask."""


def _compressed(counts: Any) -> Any:
    """Plain run lengths, as older tools of COCO write them, and bytes are taken, too."""
    if isinstance(counts, bytes):
        return counts.decode("ascii", "replace")
    if isinstance(counts, Sequence) and not isinstance(counts, str):
        if len(counts) > MAX_COUNTS:
            raise ValueError(f"a mask has at most {MAX_COUNTS} runs")
        if not all(isinstance(run, int) and run >= 0 for run in counts):
            raise ValueError("run lengths must be whole numbers, 0 or above")
        return encode_runs(counts)
    return counts


class CompressedRLE(Wire):
    """A binary mask as COCO's compressed run-length encoding.

    Attributes:
        size: Height and width in pixels; `[0, 0]` with no counts is no mask at all.
        counts: COCO's compressed string of column-major run lengths, background first. They add up to
            height times width.
    """

    size: list[Annotated[int, Field(ge=0, le=MAX_SIDE)]] = Field(min_length=2, max_length=2)
    counts: Annotated[str, BeforeValidator(_compressed), Field(max_length=MAX_COUNTS)]

    @model_validator(mode="after")
    def _check(self) -> CompressedRLE:
        height, width = self.size
        total = sum(decode_runs(self.counts))
        if total != height * width:
            raise ValueError(f"run lengths add up to {total} pixels, {height} x {width} has {height * width}")
        if height * width == 0 and self.size != [0, 0]:
            raise ValueError(f"size {self.size} must be positive, or [0, 0] for no mask")
        return self

    @classmethod
    def from_numpy(cls, mask: npt.ArrayLike) -> CompressedRLE:
        """The wire form of a mask of shape [height, width]; what is not zero is foreground.

        Raises:
            ValueError: for another number of dimensions.
        """
        import numpy as np  # noqa: PLC0415  # the base install has no NumPy

        pixels = np.asarray(mask) != 0
        if pixels.ndim != 2:
            raise ValueError(f"a mask has 2 dimensions, not {pixels.ndim}")
        if pixels.size == 0:
            return cls(size=[0, 0], counts="")
        flat = pixels.ravel(order="F")
        edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        # Background comes first, if only with no pixel.
        starts = [0, 0] if flat[0] else [0]
        lengths = np.diff(np.concatenate((starts, edges, [flat.size])))
        return cls(size=list(pixels.shape), counts=encode_runs(lengths.tolist()))

    def to_numpy(self) -> npt.NDArray[Any]:
        """The mask as booleans of shape [height, width]."""
        import numpy as np  # noqa: PLC0415  # the base install has no NumPy

        height, width = self.size
        runs = decode_runs(self.counts)
        values = np.arange(len(runs)) % 2 == 1
        return np.repeat(values, runs).reshape(width, height).T
