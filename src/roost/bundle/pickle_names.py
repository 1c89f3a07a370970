"""Reads which modules a pickle refers to, without loading it."""

from __future__ import annotations

import pickletools


def named_modules(data: bytes) -> set[str]:
    """The modules of all functions, classes and other globals that a pickle of protocol 4 or 5 names."""
    names: set[str] = set()
    memo: list[str] = []
    before, last = "", ""  # the texts of the last two values; empty for what is no text
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "MEMOIZE":
            memo.append(last)
            continue
        if opcode.name == "STACK_GLOBAL":
            names.add(before)
        if opcode.name in ("BINGET", "LONG_BINGET"):
            argument = memo[int(argument or 0)]  # noqa: PLW2901
        before, last = last, argument if isinstance(argument, str) else ""
    return names
