"""Imports one model in a process of its own; `test_import_processes.py` leads several.

It prints one word per step: `begun`, then `fetching` when its source is called, then the phase of the
model or the error's name. A line on stdin lets it begin, and another lets the source return its folder.
"""

from __future__ import annotations

import sys

from own_model import Model  # type: ignore[import-not-found]  # made by the test

import roost
from roost.errors import RoostError


def main(weights: str) -> None:
    """Import the folder, when its source is called."""

    def source() -> str:
        say("fetching")
        sys.stdin.readline()
        return weights

    say("begun")
    sys.stdin.readline()
    try:
        say(roost.import_model(source, Model, "f", "s").phase)
    except RoostError as error:
        say(f"{type(error).__name__} {error.message}")


def say(word: str) -> None:
    """Tell the test."""
    print(word, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
