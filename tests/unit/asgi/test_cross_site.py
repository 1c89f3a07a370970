"""What a web page of another site may do: nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.asgi.cross_site import SameSiteOnly
from roost.asgi.types import Message, Receive, Scope, Send

LOCAL = "127.0.0.1:7463"


def status(method: str, host: str, origin: str | None = None, *, loopback_only: bool = True) -> int:
    """The status of a request with these headers; 200 when the app was reached."""
    sent: list[Message] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    headers = [(b"host", host.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": "/",
        "headers": headers,
        "state": {"request_id": "r1"},
    }
    guard = SameSiteOnly(app, loopback_only=loopback_only, allowed_hosts=("roost.lan",))
    asyncio.run(guard(scope, receive, send))
    found: int = sent[0]["status"]
    return found


@pytest.mark.parametrize(
    ("method", "host", "origin", "expected"),
    [
        ("POST", LOCAL, None, 200),
        ("POST", LOCAL, "http://127.0.0.1:7463", 200),
        ("POST", LOCAL, "http://evil.example", 403),
        ("POST", LOCAL, "http://127.0.0.1:8080", 403),
        ("POST", LOCAL, "null", 403),
        ("DELETE", LOCAL, "https://evil.example", 403),
        ("GET", LOCAL, "http://evil.example", 200),
        ("POST", "evil.example", "http://evil.example", 403),
        ("GET", "evil.example:7463", None, 403),
        ("GET", "localhost:7463", None, 200),
        ("GET", "[::1]:7463", None, 200),
        ("GET", "[::1]", None, 200),
        ("GET", "localhost", None, 200),
        ("POST", "roost.lan:7463", "http://roost.lan:7463", 200),
    ],
)
def test_on_loopback(method: str, host: str, origin: str | None, expected: int) -> None:
    assert status(method, host, origin) == expected


@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        ("gpu.example", None, 200),
        ("gpu.example", "http://gpu.example", 200),
        ("gpu.example", "http://evil.example", 403),
    ],
)
def test_beyond_loopback_names_are_free_but_sites_are_not(
    host: str, origin: str | None, expected: int
) -> None:
    assert status("POST", host, origin, loopback_only=False) == expected
