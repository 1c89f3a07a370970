"""When changes that come close together are PUT: together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

QUIET_S: Final = 0.05
LONGEST_S: Final = 2.0


class Burst:
    """Holds a PUT back until no change came for `QUIET_S`, but no longer than `LONGEST_S`. Thread-safe.

    Each PUT makes Ray begin anew all that it is building, so that ten PUTs start the first of a hundred
    deployments later than one does. What Ray shows is looked at meanwhile.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._first: float | None = None
        self._last = 0.0

    def change(self) -> None:
        """The records were changed now."""
        with self._lock:
            now = self._monotonic()
            if self._first is None or now - self._last > LONGEST_S:  # what came before needed no PUT
                self._first = now
            self._last = now

    def left_s(self) -> float:
        """Seconds for which a PUT is held back; 0 lets it go, and the next change begins another burst."""
        with self._lock:
            if self._first is None:
                return 0.0
            until = min(self._last + QUIET_S, self._first + LONGEST_S)
            left_s = until - self._monotonic()
            if left_s > 0:
                return left_s
            self._first = None
            return 0.0
