"""Holds an app to the body limit, whatever it makes of the error itself."""

from __future__ import annotations

from roost.asgi.body import limited
from roost.asgi.types import ASGIApp, Message, Receive, Scope, Send
from roost.errors import PayloadTooLarge


class BodyLimit:
    """Raises `PayloadTooLarge` for a request body over `max_bytes`; 0 means no limit.

    Frameworks turn an error met while they read a body into an answer of their own, so an answer
    that is begun after the limit was passed is dropped and the error raised in its place.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._max_bytes <= 0:
            await self._app(scope, receive, send)
            return
        counted = limited(receive, scope, self._max_bytes)
        exceeded: PayloadTooLarge | None = None
        started = False

        async def watched() -> Message:
            nonlocal exceeded
            try:
                return await counted()
            except PayloadTooLarge as error:
                exceeded = error
                raise

        async def guarded(message: Message) -> None:
            nonlocal started
            if exceeded is None or started:
                started = True
                await send(message)

        try:
            await self._app(scope, watched, guarded)
        except Exception:
            if exceeded is None or started:
                raise
        if exceeded is not None and not started:
            raise exceeded
