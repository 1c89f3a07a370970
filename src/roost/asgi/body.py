"""Request bodies under a limit. What is declared and what is received are both counted."""

from __future__ import annotations

from roost.asgi.types import Message, Receive, Scope, find_header
from roost.errors import BadRequest, PayloadTooLarge


class ClientGone(Exception):
    """The caller left before the answer was complete. Nobody is there to be told."""


async def read_body(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    """The whole body of at most `max_bytes`; 0 means no limit.

    Raises:
        PayloadTooLarge: before anything is read when the declared length is over the limit, else
            as soon as the received bytes are.
        ClientGone: when the caller leaves before the body is complete.
    """
    check_declared(scope, max_bytes)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        whole: bytes = message.get("body", b"")
        if 0 < max_bytes < len(whole):
            raise too_large(max_bytes)
        return whole
    pieces: list[bytes] = []
    received = 0
    while True:
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece = message.get("body", b"")
        received += len(piece)
        if 0 < max_bytes < received:
            raise too_large(max_bytes)
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)
        message = await receive()


def limited(receive: Receive, scope: Scope, max_bytes: int) -> Receive:
    """`receive`, but raising `PayloadTooLarge` once the body is over `max_bytes`; 0 means no limit.

    Raises:
        PayloadTooLarge: at once, when the declared length is over the limit.
    """
    check_declared(scope, max_bytes)
    if max_bytes <= 0:
        return receive
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > max_bytes:
                raise too_large(max_bytes)
        return message

    return counted


def check_declared(scope: Scope, max_bytes: int) -> None:
    """Refuse a `Content-Length` over `max_bytes`; 0 means no limit.

    Raises:
        PayloadTooLarge: when it is over the limit.
        BadRequest: when it is not a number.
    """
    declared = find_header(scope, b"content-length")
    if declared is None or max_bytes <= 0:
        return
    if not declared.isdigit():
        raise BadRequest(f"Content-Length {declared[:40].decode('latin-1')!r} is not a number.")
    # Longer than any number of bytes that exists: int() of a huge text is slow and refused by Python.
    if len(declared) > 20 or int(declared) > max_bytes:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> PayloadTooLarge:
    """The error for a body over `max_bytes`."""
    return PayloadTooLarge(
        f"The request body is over the limit of {max_bytes} bytes.",
        hint="Send smaller media, or have the limit raised on the server.",
    )
