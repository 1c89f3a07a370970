"""The one thread that enters a model."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

_Result = TypeVar("_Result")


@dataclass(slots=True, eq=False)
class _Job:
    work: Callable[[], Any]
    deliver: Callable[[Any, BaseException | None], None]
    abandoned: Callable[[], bool]
    context: Context


class ModelThread:
    """Runs calls one after another in a thread of its own, in the order they came.

    A call whose caller stopped waiting (cancelled, timed out) before it started is never run. One
    that has started runs to its end and its result is dropped.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._busy_since: float | None = None
        # A daemon, so that a model that hangs does not keep the process from ending.
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether calls can still be run."""
        return self._thread.is_alive()

    @property
    def is_idle(self) -> bool:
        """Whether a call given now would be run at once."""
        return self._busy_since is None and self._jobs.empty()

    def busy_s(self) -> float:
        """For how long the call that is running now has run, in seconds; 0 when none is."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run `work` in the thread, in the caller's context, and return its result.

        Raises:
            BaseException: what `work` raised.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

        def deliver(result: Any, error: BaseException | None) -> None:
            # A loop that has been closed has nobody waiting in it.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future, (result, error))

        self._jobs.put(_Job(work, deliver, future.done, copy_context()))
        outcome: tuple[_Result, BaseException | None] = await future
        result, error = outcome
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End the thread after the calls that wait now. It does not wait for that."""
        self._jobs.put(None)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not job.abandoned():
                self._busy_since = time.monotonic()
                self._run(job)
                self._busy_since = None
            # Else the last request's images would be held until the next one comes.
            del job

    def _run(self, job: _Job) -> None:
        result, error = None, None
        try:
            result = job.context.run(job.work)
        except BaseException as raised:  # noqa: BLE001  # it is delivered; the thread must go on
            error = raised
        job.deliver(result, error)


def _settle(
    future: asyncio.Future[tuple[Any, BaseException | None]], outcome: tuple[Any, BaseException | None]
) -> None:
    if not future.done():
        future.set_result(outcome)
