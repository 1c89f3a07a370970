"""Keeps the request id from being sent twice below Ray's server."""

from __future__ import annotations

from collections.abc import Awaitable

from roost.asgi.request_id import REQUEST_ID_HEADER
from roost.asgi.types import ASGIApp, Message, Receive, Scope, Send, find_header


class WithoutEchoedId:
    """Drops an `X-Request-ID` that repeats the request's own.

    Ray's server gives each request without an id one, and adds the request's id to each response,
    unchecked. Only where that is not a clean one does the app's own have to go out beside it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        echoed = (REQUEST_ID_HEADER, find_header(scope, REQUEST_ID_HEADER))

        def without_echo(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                headers = [header for header in message.get("headers", ()) if header != echoed]
                message = {**message, "headers": headers}
            return send(message)

        await self._app(scope, receive, without_echo)
