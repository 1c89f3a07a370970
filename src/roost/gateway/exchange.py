"""Watches over one exchange: sends on the rest of the body, notices the caller leaving, keeps the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from roost.asgi.body import ClientGone
from roost.asgi.types import Receive
from roost.errors import Timeout
from roost.gateway.upstream import Upstream

# A task for each request is dear, and most fast answers are there before this is over.
_GRACE_S: Final = 0.01

_WAKE_S: Final = 600.0
"""For so long the time of a request that is held does not count."""

_LOOK_S: Final = 1.0
"""Between two looks whether it is held."""


class Watch:
    """Runs beside an exchange and fails it when the caller leaves, or nothing moves for `timeout_s`.

    The rest of a streamed body is sent on from the start; without one the caller is watched after
    a grace of 10 ms.

    Args:
        is_held: Whether the model is not up and a request waits for that. The model may be paused, and
            woken by this very request, after it was sent; so the question is asked again and again.
    """

    __slots__ = ("_is_held", "_loop", "_receive", "_task", "_timeout_s", "_timer", "_until", "_upstream")

    def __init__(
        self,
        upstream: Upstream,
        receive: Receive,
        *,
        more_body: bool,
        timeout_s: float,
        is_held: Callable[[], bool] = lambda: False,
    ) -> None:
        self._loop = upstream.loop
        self._upstream = upstream
        self._receive = receive
        self._timeout_s = timeout_s
        self._is_held = is_held
        self._task: asyncio.Task[None] | None = None
        if more_body:
            self._begin(more_body=True)
        else:
            self._timer = self._loop.call_later(_GRACE_S, self._begin)

    def stop(self) -> None:
        """The exchange is over."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self, more_body: bool = False) -> None:
        self._upstream.touched_s = self._loop.time()
        self._until = self._upstream.touched_s + _WAKE_S
        self._timer = self._loop.call_later(min(self._timeout_s, _LOOK_S), self._check_time)
        self._task = self._loop.create_task(self._run(more_body))

    def _check_time(self) -> None:
        now = self._loop.time()
        if now < self._until and self._is_held():
            self._upstream.touched_s = now
        left_s = self._upstream.touched_s + self._timeout_s - now
        if left_s > 0:
            self._timer = self._loop.call_later(min(left_s, _LOOK_S), self._check_time)
            return
        self._upstream.fail(
            Timeout(
                f"The model did not answer within {self._timeout_s:g} s.",
                hint="Send a smaller request, or deploy with a longer timeout_s.",
            )
        )

    async def _run(self, more_body: bool) -> None:
        try:
            if more_body:
                await self._send_on()
            while (await self._receive())["type"] != "http.disconnect":
                pass
            self._upstream.fail(ClientGone())
        except Exception as error:  # noqa: BLE001  # raised again where the exchange is awaited
            self._upstream.fail(error)

    async def _send_on(self) -> None:
        more_body = True
        while more_body:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            self._upstream.write(message.get("body", b""))
            await self._upstream.drain()
            more_body = message.get("more_body", False)
        self._upstream.end()
