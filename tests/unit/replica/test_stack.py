"""What the layers around a servable's app answer themselves."""

from __future__ import annotations

import asyncio
from typing import Any

from roost.asgi.types import ASGIApp, Message, Receive, Scope, Send
from roost.replica.stack import build_stack
from roost.replica.usage import UsageCount


async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 418, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def close() -> None:
    """Nothing is open."""


async def receive() -> Message:
    return {"type": "http.request", "body": b""}


async def ask(stack: ASGIApp, path: str) -> Message:
    """The head of the answer to GET `path`."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "root_path": "/r/f/s/r",
        "headers": [],
        "state": {},
    }
    await stack(scope, receive, send)
    return sent[0]


def answer(path: str) -> Message:
    return asyncio.run(ask(build_stack(app, close=close, version="0123abcd"), path))


async def usage_of(stack: ASGIApp) -> tuple[int, float]:
    headers = dict((await ask(stack, "/r/f/s/r/-/roost"))["headers"])
    return int(headers[b"x-roost-in-flight"]), float(headers[b"x-roost-idle-s"])


def test_every_replica_says_that_the_ingress_routes_to_it() -> None:
    head = answer("/r/f/s/r/-/roost")
    assert (head["status"], dict(head["headers"])[b"x-roost-replica"]) == (204, b"0123abcd")


def test_every_other_path_is_the_apps() -> None:
    assert answer("/r/f/s/r/-/else")["status"] == 418


def test_requests_count_until_they_end_and_questions_never_do() -> None:
    go = asyncio.Event()

    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        await go.wait()
        await app(_scope, _receive, send)

    async def run() -> None:
        stack = build_stack(slow, close=close)
        assert (await usage_of(stack))[0] == 0
        answered, left = (asyncio.create_task(ask(stack, "/r/f/s/r/x")) for _ in range(2))
        await asyncio.sleep(0)
        assert await usage_of(stack) == (2, 0.0)
        left.cancel()
        await asyncio.wait([left])
        assert await usage_of(stack) == (1, 0.0)
        go.set()
        await answered
        assert (await usage_of(stack))[0] == 0

    asyncio.run(run())


def test_two_replicas_can_be_told_apart() -> None:
    names = {dict(answer("/r/f/s/r/-/roost")["headers"])[b"x-roost-replica-id"] for _ in range(3)}
    assert len(names) == 3


def test_idle_since_the_last_request_ended() -> None:
    now = 100.0
    count = UsageCount(lambda: now)
    now = 103.0
    assert count.idle_s == 3.0
    count.begin()
    now = 110.0
    assert count.idle_s == 0.0
    count.end()
    now = 110.25
    assert (count.in_flight, count.idle_s) == (0, 0.25)
    assert count.headers()[1:] == [(b"x-roost-in-flight", b"0"), (b"x-roost-idle-s", b"0.250")]
