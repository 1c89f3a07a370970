"""Moving many pieces in parallel with bounded memory, whatever the size of the tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, TypeVar

Progress = Callable[[int, int], None]
"""Called with (done bytes, total bytes), never twice at once; `done` only grows."""

WORKERS: Final = 6
"""Threads of one transfer. Each holds one chunk and what the storage's client needs beside it."""

T = TypeVar("T")
R = TypeVar("R")


class Meter:
    """Adds up what parallel workers moved and reports it."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._done = 0
        self._progress = progress
        self._lock = threading.Lock()
        self.add(0)

    def add(self, size: int) -> None:
        """Count `size` more bytes."""
        if self._progress is None:
            return
        with self._lock:
            self._done += size
            self._progress(self._done, self._total)


def run_parallel(work: Callable[[T], R], items: Iterable[T], *, workers: int) -> list[R]:
    """Results of `work` for every item, in their order.

    The first error (or Ctrl-C) drops what was not begun, waits for what was, and is raised.
    """
    with ThreadPoolExecutor(workers, thread_name_prefix="roost-transfer") as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
