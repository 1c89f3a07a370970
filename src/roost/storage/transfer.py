"""Moving many pieces in parallel with bounded memory, whatever the size of the tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, Protocol, TypeVar

Progress = Callable[[int, int], None]
"""Called with (done bytes, total bytes), never twice at once; `done` only grows."""

BATCH_BYTES: Final = 16 * 1024 * 1024
"""A worker holds at most this much at once."""

BATCH_PIECES: Final = 256


class Sized(Protocol):
    """Something of a known size in bytes."""

    @property
    def size(self) -> int: ...


S = TypeVar("S", bound=Sized)
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


def batches(pieces: Iterable[S]) -> Iterator[list[S]]:
    """Group pieces so that a group fits in memory and small ones share a round trip."""
    batch: list[S] = []
    size = 0
    for piece in pieces:
        if batch and (size + piece.size > BATCH_BYTES or len(batch) == BATCH_PIECES):
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += piece.size
    if batch:
        yield batch


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
