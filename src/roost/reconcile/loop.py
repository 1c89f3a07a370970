"""A thread that runs one function again and again, and at once when it is woken."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_log = logging.getLogger("roost.reconcile")


class Loop:
    """Runs `cycle` until it is stopped.

    Args:
        cycle: Does one round and returns the seconds until the next is due.
        name: Names the thread, and the loop in logs.
        settle_s: After a wake, a round begins once no other came for so long, so that a burst is one round.
        longest_settle_s: It begins after so long, whatever comes.
        retry_s: Pause after a round that raised.
    """

    def __init__(
        self,
        cycle: Callable[[], float],
        *,
        name: str,
        settle_s: float = 0.03,
        longest_settle_s: float = 1.0,
        retry_s: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cycle = cycle
        self._name = name
        self._settle_s = settle_s
        self._longest_settle_s = longest_settle_s
        self._monotonic = monotonic
        self._retry_s = retry_s
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread; the first round begins at once."""
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Begin a round now. From any thread; it does not block."""
        self._woken.set()

    def stop(self, timeout_s: float = 5.0) -> bool:
        """End after the present round; False when that took longer than `timeout_s`."""
        self._stopping.set()
        self._woken.set()
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause_s = self._round()
            if self._woken.wait(pause_s):
                self._settle()

    def _settle(self) -> None:
        """Each round that PUTs makes Ray begin anew what it is building: so a burst had better be one."""
        latest = self._monotonic() + self._longest_settle_s
        late = False
        while self._woken.is_set() and not late:
            self._woken.clear()
            self._stopping.wait(self._settle_s)
            late = self._monotonic() >= latest

    def _round(self) -> float:
        self._woken.clear()
        try:
            return self._cycle()
        except Exception:  # noqa: BLE001  # a fault of one round must not end the loop
            _log.exception("%s: a round failed; the next follows in %s s", self._name, self._retry_s)
            return self._retry_s
