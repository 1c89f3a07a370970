"""COCO's compressed string of run lengths: five bits a character, each run as a difference to one before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_OFFSET: Final = 48
_MORE: Final = 0x20
_SIGN: Final = 0x10
_MAX_DIGITS: Final = 13
"""Of five bits each: more than any run of pixels has."""


def decode_runs(counts: str) -> list[int]:
    """The run lengths: background, foreground, background, ... in column-major order.

    Raises:
        ValueError: for a character that is not one of the code's, a string that ends within a number,
            or a run below zero.
    """
    runs: list[int] = []
    value = digits = 0
    for character in counts:
        bits = ord(character) - _OFFSET
        if not 0 <= bits < 64 or digits == _MAX_DIGITS:
            raise ValueError(f"run lengths are not valid at {character!r}")
        value |= (bits & 0x1F) << (5 * digits)
        digits += 1
        if bits & _MORE:
            continue
        if bits & _SIGN:
            value -= 1 << (5 * digits)
        run = value + runs[-2] if len(runs) > 2 else value
        if run < 0:
            raise ValueError(f"run length {run} is below zero")
        runs.append(run)
        value = digits = 0
    if digits:
        raise ValueError("run lengths end within a number")
    return runs


def encode_runs(runs: Iterable[int]) -> str:
    """The compressed string of run lengths."""
    known: list[int] = []
    characters: list[str] = []
    for run in runs:
        value = run - known[-2] if len(known) > 2 else run
        known.append(run)
        is_done = False
        while not is_done:
            bits = value & 0x1F
            value >>= 5
            is_done = value == (-1 if bits & _SIGN else 0)
            characters.append(chr((bits if is_done else bits | _MORE) + _OFFSET))
    return "".join(characters)
