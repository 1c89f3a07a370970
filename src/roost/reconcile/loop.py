"""A thread that runs one function again and again, and at once when it is woken."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("roost.reconcile")


class Loop:
    """Runs `cycle` until it is stopped.

    Args:
        cycle: Does one round and returns the seconds until the next is due.
        name: Names the thread, and the loop in logs.
        settle_s: After a wake, how long to collect further changes, so that a burst is one round.
        retry_s: Pause after a round that raised.
    """

    def __init__(
        self, cycle: Callable[[], float], *, name: str, settle_s: float = 0.03, retry_s: float = 1.0
    ) -> None:
        self._cycle = cycle
        self._name = name
        self._settle_s = settle_s
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
                self._stopping.wait(self._settle_s)

    def _round(self) -> float:
        self._woken.clear()
        try:
            return self._cycle()
        except Exception:  # noqa: BLE001  # a fault of one round must not end the loop
            _log.exception("%s: a round failed; the next follows in %s s", self._name, self._retry_s)
            return self._retry_s
