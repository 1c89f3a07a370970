"""Parallel work that Ctrl-C does not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

GRACE_S: Final = 2.0
"""How long work under way is waited for once it is not wanted any more."""

T = TypeVar("T")


def run_or_leave(
    work: Callable[[T], None], items: Sequence[T], *, workers: int, stopped: threading.Event
) -> None:
    """Do `work` for every item.

    The first error (or Ctrl-C) sets `stopped` and is raised soon, though a library may be waiting in a
    read that nothing can end: its thread is left, and ends with the read or with the process.
    """
    waiting: SimpleQueue[T] = SimpleQueue()
    done: SimpleQueue[Exception | None] = SimpleQueue()
    for item in items:
        waiting.put(item)

    def serve() -> None:
        while not stopped.is_set():
            try:
                work(waiting.get_nowait())
            except Empty:
                return
            except Exception as error:  # noqa: BLE001  # raised again by the caller's thread
                done.put(error)
                return
            done.put(None)

    threads = [threading.Thread(target=serve, name="roost-fetch", daemon=True) for _ in range(workers)]
    try:
        for thread in threads:
            thread.start()
        for _ in items:
            if (error := done.get()) is not None:
                raise error
    except BaseException:
        stopped.set()
        for thread in threads:
            thread.join(GRACE_S / workers)
        raise
    for thread in threads:
        thread.join()
