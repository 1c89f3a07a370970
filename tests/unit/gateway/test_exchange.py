"""Whose time counts: a request that is held while its model wakes is not late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVarTuple

import pytest

from roost.asgi.types import Message
from roost.errors import Timeout
from roost.gateway.exchange import Watch
from roost.gateway.upstream import Upstream

_Ts = TypeVarTuple("_Ts")


class Timers(asyncio.BaseEventLoop):
    """An event loop that is turned by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.close()  # it never runs
        self.now = 1000.0
        self.waiting: list[asyncio.TimerHandle] = []

    def time(self) -> float:
        return self.now

    def call_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Any = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(self.now + delay, callback, args, self)
        self.waiting.append(timer)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self.waiting.remove(handle)

    def create_task(self, coro: Any, **_: Any) -> Any:
        coro.close()  # nobody leaves here

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while due := [timer for timer in self.waiting if timer.when() <= until]:
            timer = min(due, key=asyncio.TimerHandle.when)
            self.waiting.remove(timer)
            self.now = timer.when()
            timer._run()
        self.now = until


class Held:
    """Whether the model is paused or waking now."""

    def __init__(self) -> None:
        self.now = False

    def __call__(self) -> bool:
        return self.now


async def receive() -> Message:
    raise AssertionError("nobody asks")


def began(loop: Timers, timeout_s: float, is_held: Callable[[], bool]) -> Upstream:
    upstream = Upstream(loop)
    upstream.start(b"", (), complete=True)
    upstream._error = None  # it has no transport here
    Watch(upstream, receive, more_body=False, timeout_s=timeout_s, is_held=is_held)
    return upstream


def is_late(upstream: Upstream) -> bool:
    return isinstance(upstream._error, Timeout)


def test_time_that_counts_runs_out() -> None:
    loop = Timers()
    upstream = began(loop, 60.0, Held())
    loop.pass_time(59.9)
    assert not is_late(upstream)
    loop.pass_time(0.2)
    assert is_late(upstream)


@pytest.mark.parametrize("timeout_s", [3.0, 60.0])
def test_the_time_while_it_is_held_does_not_count(timeout_s: float) -> None:
    loop, held = Timers(), Held()
    held.now = True
    upstream = began(loop, timeout_s, held)
    loop.pass_time(400)
    held.now = False
    loop.pass_time(timeout_s - 1.1)
    assert not is_late(upstream)
    loop.pass_time(10)
    assert is_late(upstream)


def test_a_model_that_is_paused_after_the_request_was_sent() -> None:
    loop, held = Timers(), Held()
    upstream = began(loop, 60.0, held)
    loop.pass_time(2)
    held.now = True
    loop.pass_time(100)
    held.now = False
    loop.pass_time(58)
    assert not is_late(upstream)


def test_a_wake_that_never_ends_does_not_hold_it_for_ever() -> None:
    loop, held = Timers(), Held()
    held.now = True
    upstream = began(loop, 60.0, held)
    loop.pass_time(600)
    assert not is_late(upstream)
    loop.pass_time(61)
    assert is_late(upstream)
