"""Terminal escapes in Ray's logs and messages."""

from __future__ import annotations

import re

# CSI sequences (colours, cursor), OSC sequences (titles, links), and lone escapes (ECMA-48).
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]?")


def strip_ansi(text: str) -> str:
    """`text` without terminal escapes."""
    return _ANSI.sub("", text)
