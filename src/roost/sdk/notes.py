"""What the user should know besides the result, said once on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable

_told: set[str] = set()


def tell(notes: Iterable[str]) -> None:
    """Write each note as a line on stderr, once a process."""
    for note in notes:
        if note not in _told:
            _told.add(note)
            print(f"note: {note}", file=sys.stderr)
