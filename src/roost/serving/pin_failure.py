"""Why Ray's uv support could not install a bundle's pins, out of Ray's long account of it."""

from __future__ import annotations

import re
from typing import Final

# Ray's `SubprocessCalledProcessError`, as the end of its agent's traceback.
_INSTALL: Final = re.compile(
    r"Command '\[[^\n]*'uv', 'pip', 'install', '-r'[^\n]*\n(?:[^\n]*\n)??"
    r"Last \d+ lines of stdout:\n(?P<said>(?:[ ]{4}[^\n]*(?:\n|$)|\n)+)"
)
_WHERE: Final = "Using Python "


def pin_failure(message: str) -> str | None:
    """What uv said, in its own words, which name the pin; None when the message is of something else."""
    found = _INSTALL.search(message)
    if found is None:
        return None
    lines = (line.strip() for line in found["said"].splitlines())
    said = "\n".join(line for line in lines if line and not line.startswith(_WHERE))
    return f"The pins of the bundle cannot be installed. uv says:\n{said}"
