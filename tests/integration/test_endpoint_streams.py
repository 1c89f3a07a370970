"""Streams of endpoints over real connections: flushed, cut in the middle, left by their caller."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager

import pytest
import uvicorn

import roost
from roost.asgi.types import ASGIApp
from roost.contracts.endpoint_document import write_document
from roost.contracts.endpoint_methods import endpoints_of
from roost.contracts.replica import ReplicaLimits
from roost.errors import Unavailable
from roost.replica.endpoint_app import EndpointApp
from roost.replica.endpoint_calls import EndpointCalls
from roost.replica.endpoint_threads import EndpointThreads
from roost.replica.stack import build_stack
from roost.serve import endpoint

TIMEOUT_S = 60
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
ITEM = b'{"item":"one"}\n'
CHUNK = b"%x\r\n%b\r\n" % (len(ITEM), ITEM)


class Gated:
    """Yields one item, and the next when the gate opens."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.closed = threading.Event()

    @endpoint
    def plain(self) -> Iterator[str]:
        try:
            yield "one"
            self.gate.wait(TIMEOUT_S)
            yield "two"
        finally:
            self.closed.set()

    @endpoint
    async def asynchronous(self) -> AsyncIterator[str]:
        try:
            yield "one"
            while not self.gate.is_set():  # noqa: ASYNC110  # the gate is another thread's
                await asyncio.sleep(0.01)
            yield "two"
        finally:
            self.closed.set()


def stack(instance: Gated) -> ASGIApp:
    endpoints = endpoints_of(Gated)
    document = write_document(endpoints, title="Gated", doc="", version="", path="")
    app = EndpointApp(EndpointCalls(instance, EndpointThreads(4)), endpoints, document, ReplicaLimits())

    async def close() -> None:
        return

    return build_stack(app, close=close)


def deployment(url: str) -> roost.Deployment:
    return roost.Deployment(family="f", suffix="s", run_name="r", name="f/s", url=url, phase="running")


@contextmanager
def served(app: ASGIApp) -> Iterator[roost.Deployment]:
    """uvicorn in a thread, on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield deployment(f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("name", ["plain", "asynchronous"])
def test_an_item_is_there_before_the_next_is_made(name: str) -> None:
    gated = Gated()
    with served(stack(gated)) as deployed:
        items = getattr(deployed.client(Gated), name)()
        assert next(items) == "one"
        assert not gated.closed.is_set()
        gated.gate.set()
        assert list(items) == ["two"]
    assert gated.closed.is_set()


@pytest.mark.parametrize("name", ["plain", "asynchronous"])
def test_the_generator_is_closed_when_its_caller_leaves(name: str) -> None:
    gated = Gated()
    with served(stack(gated)) as deployed:
        with closing(getattr(deployed.client(Gated), name)()) as items:
            assert next(items) == "one"
        if name == "plain":
            gated.gate.set()  # a thread cannot be left before it comes out
        assert gated.closed.wait(TIMEOUT_S)


def test_an_async_caller_who_leaves_closes_it_too() -> None:
    gated = Gated()

    async def leave(deployed: roost.Deployment) -> None:
        async with deployed.async_client(Gated) as client:
            items = client.asynchronous()
            assert await anext(items) == "one"

    with served(stack(gated)) as deployed:
        asyncio.run(leave(deployed))
        assert gated.closed.wait(TIMEOUT_S)


@contextmanager
def answering(answer: bytes, *, reset: bool) -> Iterator[roost.Deployment]:
    """A bare socket that sends `answer` to each caller and closes the connection, as a kill does."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            with caller:
                caller.recv(65536)
                caller.sendall(answer)
                if reset:
                    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield deployment(f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK + b"0\r\n\r\n",
        HEAD + b"Connection: close\r\n\r\n" + ITEM,
        HEAD + b"Connection: close\r\n\r\n" + ITEM + b'{"item":"tw',
    ],
    ids=["chunk missing", "whole body, no last line", "till the connection ends", "half a line"],
)
def test_a_stream_that_is_cut_is_an_error(answer: bytes, reset: bool) -> None:
    async def read(deployed: roost.Deployment) -> list[str]:
        async with deployed.async_client(Gated) as client:
            return [item async for item in client.asynchronous()]

    with answering(answer, reset=reset) as deployed:
        with pytest.raises(Unavailable, match="was cut"):
            list(deployed.client(Gated).plain())
        with pytest.raises(Unavailable, match="was cut"):
            asyncio.run(read(deployed))
