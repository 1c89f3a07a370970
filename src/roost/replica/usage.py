"""Whether a replica is used: what it works on, and since when it has had nothing to do."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from roost.asgi.ready import ID_HEADER, IDLE_HEADER, IN_FLIGHT_HEADER
from roost.asgi.types import Header


class UsageCount:
    """Counts requests. Belongs to one event loop.

    Attributes:
        in_flight: Requests that have begun and not ended.
    """

    __slots__ = ("_ended_s", "_id", "_monotonic", "in_flight")

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.in_flight = 0
        self._id = uuid.uuid4().hex
        self._monotonic = monotonic
        self._ended_s = monotonic()

    def begin(self) -> None:
        """A request has come."""
        self.in_flight += 1

    def end(self) -> None:
        """It is answered, or its caller has left."""
        self.in_flight -= 1
        self._ended_s = self._monotonic()

    @property
    def idle_s(self) -> float:
        """Seconds since the last request ended, or since this was made; 0 while there is one."""
        return 0.0 if self.in_flight else self._monotonic() - self._ended_s

    def headers(self) -> list[Header]:
        """What it comes to, as headers of an answer."""
        return [
            (ID_HEADER.encode(), self._id.encode()),
            (IN_FLIGHT_HEADER.encode(), str(self.in_flight).encode()),
            (IDLE_HEADER.encode(), f"{self.idle_s:.3f}".encode()),
        ]
