"""Whole responses in two messages."""

from __future__ import annotations

import math
from collections.abc import Iterable

from roost.asgi.request_id import REQUEST_ID_HEADER
from roost.asgi.types import Header, Send
from roost.contracts.error import ErrorBody
from roost.errors import RoostError


async def send_json(send: Send, status: int, body: bytes, headers: Iterable[Header] = ()) -> None:
    """Answer with `body`, which is JSON already. Header names are lower case."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_error(send: Send, error: RoostError, request_id: str, headers: Iterable[Header] = ()) -> None:
    """Answer with the envelope of `error`, and `Retry-After` in whole seconds when it has one."""
    await send_json(
        send,
        error.status,
        ErrorBody.of(error, request_id).to_json(),
        [*error_headers(error, request_id), *headers],
    )


def error_headers(error: RoostError, request_id: str) -> list[Header]:
    """`X-Request-ID`, and `Retry-After` rounded up to whole seconds."""
    headers: list[Header] = [(REQUEST_ID_HEADER, request_id.encode("latin-1", "replace"))]
    if error.retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % max(0, math.ceil(error.retry_after_s))))
    return headers
