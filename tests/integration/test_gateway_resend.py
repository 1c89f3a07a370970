"""When the upstream goes away: what is sent again, what is not, and what the caller is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from roost.asgi.types import Message
from roost.errors import Unavailable
from roost.gateway.forward import Body, Forwarder
from roost.keys import DeploymentKey

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

KEY = DeploymentKey("a", "b", "c")
Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Route:
    url: str
    name: str = "m"
    timeout_s: float = 20.0
    key: DeploymentKey = KEY
    capability: str | None = "detection"
    phase: str = "running"
    ray_status: str = "RUNNING"


class Server:
    """An upstream on a bare socket: the n-th connection does what `behaviours[n]` says."""

    def __init__(self, *behaviours: Behaviour) -> None:
        self._behaviours = list(behaviours)
        self.connections = 0
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await self._behaviours[self.connections - 1](reader, writer)
        writer.close()


@asynccontextmanager
async def listening(*behaviours: Behaviour) -> AsyncIterator[Server]:
    server = Server(*behaviours)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/r"
    async with listener:
        yield server


async def request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(4)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(OK)


async def answer_then_die_in_the_next(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await answer(reader, writer)
    await request(reader)


async def post(forwarder: Forwarder, url: str) -> tuple[int, bytes]:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [], "state": {"request_id": "id1"}}
    await forwarder.forward(scope, receive, send, route=Route(url), path="/x", body=Body([b"BODY"], False))
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


def test_a_kept_connection_that_was_closed_meanwhile_is_replaced() -> None:
    async def run() -> None:
        forwarder = Forwarder()
        async with listening(answer, answer) as server:
            assert await post(forwarder, server.url) == (200, b"ok")
            assert await post(forwarder, server.url) == (200, b"ok")
            assert server.connections == 2
        await forwarder.close()

    asyncio.run(run())


def test_a_request_that_may_have_run_is_not_sent_again() -> None:
    async def run() -> None:
        forwarder = Forwarder()
        async with listening(answer_then_die_in_the_next, answer) as server:
            assert await post(forwarder, server.url) == (200, b"ok")
            with pytest.raises(Unavailable) as caught:
                await post(forwarder, server.url)
            assert caught.value.hint is not None
            assert "may have run" in caught.value.hint
            assert caught.value.retry_after_s is None
            assert server.connections == 1
            assert await post(forwarder, server.url) == (200, b"ok")
        assert forwarder.in_flight == 0
        await forwarder.close()

    asyncio.run(run())


def test_a_refused_connection_may_be_tried_again_and_names_no_address() -> None:
    async def run() -> None:
        async with listening() as server:
            url = server.url
        forwarder = Forwarder()
        with pytest.raises(Unavailable) as caught:
            await post(forwarder, url)
        assert caught.value.retry_after_s == 1
        assert caught.value.hint is not None
        assert "roost status" in caught.value.hint
        assert "127.0.0.1" not in str(caught.value)
        assert forwarder.in_flight == 0

    asyncio.run(run())
