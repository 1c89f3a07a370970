"""Wakes whoever waits for the records to change: threads and coroutines, from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

_Read = TypeVar("_Read")

RECHECK_S = 1.0
"""How often a waiter reads again without being woken: another server may have written."""


class Changes:
    """Counts the changes of the records and wakes waiters at each.

    Nothing is lost when the version is taken before the records are read:

        seen = changes.version
        ... read the records ...
        seen = await changes.wait(seen, timeout_s=10)
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._closed = False
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._first: list[Callable[[], object]] = []

    @property
    def version(self) -> int:
        """How many changes there were; grows only."""
        with self._changed:
            return self._version

    @property
    def closed(self) -> bool:
        """Whether `close` was called: nobody waits any more."""
        with self._changed:
            return self._closed

    def first(self, follow: Callable[[], object]) -> None:
        """Call `follow` at each change, in the thread that made it, before anybody is woken.

        So whoever was told of a change already finds it wherever `follow` keeps it.
        """
        self._first.append(follow)

    def notify(self) -> None:
        """Say that the records changed. Call it after the commit, from any thread."""
        for follow in self._first:
            follow()
        with self._changed:
            self._version += 1
            self._wake()

    def close(self) -> None:
        """Let all waiters go, now and from now on: the server is shutting down."""
        with self._changed:
            self._closed = True
            self._wake()

    def wait_blocking(self, seen: int, timeout_s: float) -> int:
        """Block this thread until the version is past `seen`, or `timeout_s` went by; the version then."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._version > seen, timeout=max(0.0, timeout_s))
            return self._version

    async def wait(self, seen: int, timeout_s: float) -> int:
        """Suspend until the version is past `seen`, or `timeout_s` went by; the version then."""
        woken = asyncio.Event()
        waiter = (asyncio.get_running_loop(), woken)
        with self._changed:
            if self._closed or self._version > seen or timeout_s <= 0:
                return self._version
            self._waiters.add(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                await woken.wait()
        except TimeoutError:
            return self.version
        finally:
            with self._changed:
                self._waiters.discard(waiter)
        return self.version

    async def read_until(
        self,
        read: Callable[[], _Read],
        is_new: Callable[[_Read], bool],
        *,
        timeout_s: float,
        recheck_s: float = RECHECK_S,
    ) -> _Read:
        """Read in a thread until `is_new` holds; after `timeout_s` the last value read.

        It reads at least once, then after each change, and every `recheck_s` for the sake of
        changes that another server made. What `read` raises ends the wait.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            seen = self.version
            value = await asyncio.to_thread(read)
            left_s = deadline - loop.time()
            if is_new(value) or left_s <= 0 or self.closed:
                return value
            await self.wait(seen, min(left_s, recheck_s))

    def _wake(self) -> None:
        self._changed.notify_all()
        waiters, self._waiters = self._waiters, set()
        for loop, woken in waiters:
            with suppress(RuntimeError):  # its loop was closed: nobody waits there any more
                loop.call_soon_threadsafe(woken.set)
