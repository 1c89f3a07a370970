"""The ASGI layers around a servable's app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from roost.asgi.boundary import ErrorBoundary
from roost.asgi.ready import READY_HEADER, READY_PATH
from roost.asgi.types import ASGIApp, Receive, Scope, Send
from roost.replica.usage import UsageCount

LOG_NAME: Final = "roost.replica"


def build_stack(app: ASGIApp, *, close: Callable[[], Awaitable[None]], version: str = "") -> ASGIApp:
    """`app` behind the error boundary. `close` is awaited when the server shuts down; `version` is what
    the replica tells of itself, with its usage, when it is asked whether the ingress routes to it.

    `app` has started up already: its own lifespan messages never reach it.
    """
    return _Lifecycle(ErrorBoundary(app, LOG_NAME), close, version)


class _Lifecycle:
    """Answers the server's lifespan messages in the app's place, and what the server asks of the replica."""

    def __init__(self, app: ASGIApp, close: Callable[[], Awaitable[None]], version: str) -> None:
        self._app = app
        self._close = close
        self._version = version
        self._usage = UsageCount()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            if scope["path"].endswith(READY_PATH) and scope["type"] == "http":
                await self._say_ready(send)
                return
            self._usage.begin()
            try:
                await self._app(scope, receive, send)
            finally:
                self._usage.end()
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _say_ready(self, send: Send) -> None:
        """Show that the ingress routes here, to what, and whether it is used. This is no use of it."""
        headers = [(READY_HEADER.encode(), self._version.encode()), *self._usage.headers()]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


class WithState:
    """Puts what the app's lifespan yielded into the state of each request."""

    def __init__(self, app: ASGIApp, state: dict[str, Any]) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = {**scope.get("state", {}), **self._state}
        await self._app(scope, receive, send)
