"""The outermost ASGI layer: a request id for every request, the envelope for every error."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any

from roost.asgi.body import ClientGone
from roost.asgi.request_id import REQUEST_ID_HEADER, clean_request_id, current
from roost.asgi.responses import send_error
from roost.asgi.types import ASGIApp, Message, Receive, Scope, Send, find_header
from roost.errors import InternalError, RoostError


class ErrorBoundary:
    """Wraps an ASGI app so that whatever it raises becomes the error envelope.

    The request id is in `scope["state"]["request_id"]` and `current_request_id()`, and is sent as
    `X-Request-ID` with every response. A `RoostError` is sent as it is; anything else is logged
    with its traceback under the request id, and the caller is told only that id. `ClientGone` ends
    in silence. When the response has begun, the error is raised again: the server then cuts the
    connection, so the caller sees that the answer is not whole.

    Args:
        app: The wrapped app. Scopes other than `http` pass through.
        log_name: Name of the logger.
    """

    def __init__(self, app: ASGIApp, log_name: str) -> None:
        self._app = app
        self._log = logging.getLogger(log_name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = clean_request_id(find_header(scope, REQUEST_ID_HEADER))
        scope.setdefault("state", {})["request_id"] = request_id
        token = current.set(request_id)
        response = _Response(send, request_id)
        try:
            await self._app(scope, receive, response.send)
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001  # this is the place where anything becomes an answer
            await self._answer(error, response, request_id, scope)
        finally:
            current.reset(token)

    async def _answer(self, error: Exception, response: _Response, request_id: str, scope: Scope) -> None:
        known = isinstance(error, RoostError) and not isinstance(error, InternalError)
        place: dict[str, Any] = {"request_id": request_id, "method": scope["method"], "path": scope["path"]}
        if not known:
            self._log.error("request %s failed", request_id, exc_info=error, extra=place)
        elif isinstance(error, RoostError) and error.status >= 500:
            self._log.warning("request %s: %s", request_id, error, extra=place | {"context": error.context})
        if response.complete:
            return
        if response.started:
            raise error
        await send_error(response.send, error if isinstance(error, RoostError) else _hidden(), request_id)


class _Response:
    """Adds the request id to the head and remembers how far the response has come."""

    __slots__ = ("_request_id", "_send", "complete", "started")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = (REQUEST_ID_HEADER, request_id.encode("ascii"))
        self.started = False
        self.complete = False

    def send(self, message: Message) -> Awaitable[None]:
        # Not a coroutine of its own: it runs for every message, so it hands on the server's awaitable.
        if message["type"] == "http.response.start":
            self.started = True
            headers = [header for header in message.get("headers", ()) if header[0] != REQUEST_ID_HEADER]
            headers.append(self._request_id)
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self.complete = True
        return self._send(message)


def _hidden() -> InternalError:
    return InternalError(
        "The server failed while it handled this request.", hint="Its log has the cause under the request id."
    )
