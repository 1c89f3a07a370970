"""The threads in which plain methods run, so that they do not hold up the replica's event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, TypeVar

from roost.errors import Unavailable

THREADS: Final = 64
"""As many as the requests that a replica is given at once."""

_Result = TypeVar("_Result")


class EndpointThreads:
    """Runs calls side by side. A call whose caller stopped waiting before it began is never run; one
    that has begun runs to its end.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="endpoint")
        self._left = 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run `work` in the caller's context.

        Raises:
            Exception: what `work` raised.
        """
        future = self.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not future.done():
                self._count_left(future)
            raise

    def submit(self, work: Callable[[], _Result]) -> Future[_Result]:
        """Begin `work` as soon as a thread is free."""
        return self._pool.submit(copy_context().run, work)

    def check(self) -> None:
        """Do nothing while there is a thread for the next call.

        Raises:
            Unavailable: when all are held by calls nobody waits for any more.
        """
        if self._left >= self._threads:
            raise Unavailable(f"All {self._threads} threads are held by calls that ran out of time.")

    def close(self) -> None:
        """Begin nothing more. It does not wait for what runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _count_left(self, future: Future[Any]) -> None:
        with self._lock:
            self._left += 1
        future.add_done_callback(self._count_returned)

    def _count_returned(self, _future: Future[Any]) -> None:
        with self._lock:
            self._left -= 1
