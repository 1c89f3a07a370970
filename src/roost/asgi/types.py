"""The types of the ASGI interface, as Starlette and uvicorn use them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

Header = tuple[bytes, bytes]
"""A header's lower-case name and its value."""


def find_header(scope: Scope, name: bytes) -> bytes | None:
    """The value of the first header with this lower-case name."""
    for key, value in scope["headers"]:
        if key == name:
            found: bytes = value
            return found
    return None
