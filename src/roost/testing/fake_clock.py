"""A clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """Stands still until it is advanced. Fits `roost.services.clock.Clock`.

    Args:
        start: The first moment it tells; aware.
    """

    def __init__(self, start: datetime = EPOCH) -> None:
        self._now = start

    def now(self) -> datetime:
        """The moment it was last set to."""
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move it forward and return the new moment."""
        self._now += timedelta(seconds=seconds)
        return self._now
