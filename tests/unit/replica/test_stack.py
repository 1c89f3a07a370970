"""What the layers around a servable's app answer themselves."""

from __future__ import annotations

import asyncio
from typing import Any

from roost.asgi.types import Message, Receive, Scope, Send
from roost.replica.stack import build_stack


async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def close() -> None:
    """Nothing is open."""


def answer(path: str) -> Message:
    """The head of the answer to GET `path`."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "root_path": "/r/f/s/r",
        "headers": [],
        "state": {},
    }

    async def run() -> None:
        await build_stack(app, close=close, version="0123abcd")(scope, receive, send)

    asyncio.run(run())
    return sent[0]


def test_every_replica_says_that_the_ingress_routes_to_it() -> None:
    head = answer("/r/f/s/r/-/roost")
    assert (head["status"], head["headers"]) == (204, [(b"x-roost-replica", b"0123abcd")])


def test_every_other_path_is_the_apps() -> None:
    assert answer("/r/f/s/r/-/else")["status"] == 418
