"""The ASGI app of a class with endpoints. No framework, as for inference models."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Final

from roost.asgi.body import read_body
from roost.asgi.method import require_method
from roost.asgi.presence import while_present
from roost.asgi.request_id import current_request_id
from roost.asgi.responses import send_json
from roost.asgi.types import Receive, Scope, Send, find_header
from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_stream import CONTENT_TYPE, KEEP_ALIVE_LINE, end_line, error_line, item_line
from roost.contracts.replica import ReplicaLimits
from roost.errors import NotFound, RoostError, Timeout
from roost.replica.endpoint_calls import EndpointCalls
from roost.replica.inference_request import require_json

DEFAULT_TIMEOUT_S: Final = 60.0
DOCUMENT_PATH: Final = "/openapi.json"
KEEP_ALIVE_S: Final = 2.0
"""Between the empty lines of a stream. A proxy finds that its caller has left when it writes to it."""

_log = logging.getLogger("roost.replica")


class EndpointApp:
    """Answers `POST /{endpoint}` and `GET /openapi.json` below its mount path (`root_path`).

    A call that takes longer than its limit raises `Timeout`; so does a stream whose next item does.
    What a stream meets after its first item is told in its last line. Other errors are raised: the
    error boundary in front answers them.

    Args:
        document: What `openapi.json` answers.
        keep_alive_s: Between the empty lines of a stream.
    """

    def __init__(
        self,
        calls: EndpointCalls,
        endpoints: Mapping[str, Endpoint],
        document: Mapping[str, Any],
        limits: ReplicaLimits,
        *,
        keep_alive_s: float = KEEP_ALIVE_S,
    ) -> None:
        self._calls = calls
        self._endpoints = endpoints
        self._document = json.dumps(document, ensure_ascii=False).encode()
        self._max_body_bytes = limits.max_body_bytes
        self._timeout_s = limits.timeout_s or DEFAULT_TIMEOUT_S
        self._keep_alive_s = keep_alive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        path: str = scope["path"]
        path = path.removeprefix(scope.get("root_path", ""))
        if path == DOCUMENT_PATH:
            require_method(scope, path, "GET")
            await send_json(send, 200, self._document)
            return
        endpoint = self._endpoints.get(path.removeprefix("/")) if path.startswith("/") else None
        if endpoint is None:
            raise NotFound(
                f"There is no endpoint {path[:200]!r}.",
                hint=f"The endpoints are {', '.join(f'/{name}' for name in self._endpoints)}.",
            )
        require_method(scope, path, "POST")
        if endpoint.is_stream:
            await self._stream(endpoint, scope, receive, send)
        else:
            await self._answer(endpoint, scope, receive, send)

    async def _answer(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        async with _within(endpoint, endpoint.timeout_s or self._timeout_s):
            arguments = await self._read_arguments(endpoint, scope, receive)
            result = await self._calls.result(endpoint, arguments)
        await send_json(send, 200, result)

    async def _stream(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        limit_s = endpoint.timeout_s or self._timeout_s
        async with _within(endpoint, limit_s):
            arguments = await self._read_arguments(endpoint, scope, receive)
        items = self._calls.items(endpoint, arguments)
        lines = _Lines(endpoint, items, limit_s=limit_s, keep_alive_s=self._keep_alive_s)
        await while_present(receive, lines.send(send))

    async def _read_arguments(self, endpoint: Endpoint, scope: Scope, receive: Receive) -> dict[str, Any]:
        body = await read_body(scope, receive, self._max_body_bytes)
        if body:
            require_json(find_header(scope, b"content-type"))
        return endpoint.load_arguments(body)


class _Lines:
    """The lines of one stream."""

    def __init__(
        self, endpoint: Endpoint, items: AsyncGenerator[bytes, None], *, limit_s: float, keep_alive_s: float
    ) -> None:
        self._endpoint = endpoint
        self._items = items
        self._limit_s = limit_s
        self._keep_alive_s = keep_alive_s

    async def send(self, send: Send) -> None:
        """Send them as they come, the last one whatever ends the stream.

        Raises:
            RoostError: for an error before the first item, so that it has a status of its own.
        """
        async with aclosing(self._items):
            item = await self._next()
            headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            beat = asyncio.create_task(self._keep_alive(send))
            try:
                last = await self._send_items(item, send)
            finally:
                beat.cancel()
                await asyncio.wait({beat})
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _send_items(self, item: bytes | None, send: Send) -> bytes:
        """The last line, after all others are sent."""
        count = 0
        try:
            while item is not None:
                await _send_line(send, item_line(item))
                count += 1
                item = await self._next()
        except RoostError as error:
            request_id = current_request_id()
            _log.warning("request %s: the stream ended after %d items: %s", request_id, count, error)
            return error_line(error, request_id)
        return end_line(count)

    async def _keep_alive(self, send: Send) -> None:
        with suppress(OSError):  # the caller has left: the next item finds out
            while True:
                await asyncio.sleep(self._keep_alive_s)
                await _send_line(send, KEEP_ALIVE_LINE)

    async def _next(self) -> bytes | None:
        async with _within(self._endpoint, self._limit_s):
            return await anext(self._items, None)


async def _send_line(send: Send, line: bytes) -> None:
    await send({"type": "http.response.body", "body": line, "more_body": True})


@asynccontextmanager
async def _within(endpoint: Endpoint, limit_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(limit_s) as deadline:
            yield
    except TimeoutError:
        if not deadline.expired():
            raise
        what = "yield its next item" if endpoint.is_stream else "answer"
        raise Timeout(
            f"{endpoint.name!r} did not {what} within {limit_s:g} s.",
            hint="Ask for less, or mark it with @roost.serve.endpoint(timeout_s=...).",
        ) from None
