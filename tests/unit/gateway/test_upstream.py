"""The upstream connection fed with bytes by hand: every framing, and every way to end too early."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.gateway.upstream import Upstream, UpstreamLost


class Wire(asyncio.Transport):
    """A transport that keeps what is written; a pipe stands for the socket's descriptor."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.descriptor = descriptor
        self.written = b""
        self.aborted = False
        self.reading = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self if name == "socket" else default

    def fileno(self) -> int:
        return self.descriptor

    def write(self, data: Any) -> None:
        self.written += data

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


@pytest.fixture(scope="module")
def descriptor() -> Iterator[int]:
    read_end, write_end = os.pipe()
    yield read_end
    os.close(read_end)
    os.close(write_end)


def opened(descriptor: int) -> tuple[Upstream, Wire]:
    upstream = Upstream(asyncio.get_running_loop())
    wire = Wire(descriptor)
    upstream.connection_made(wire)
    return upstream, wire


async def body_of(upstream: Upstream) -> bytes:
    await upstream.answered()
    body, last = b"", False
    while not last:
        piece, last = await upstream.piece()
        body += piece
    return body


def exchange(descriptor: int, *answer: bytes, eof: bool = False) -> tuple[Upstream, bytes, bool]:
    """One exchange answered with these pieces: the connection, the body, and whether it can go on."""

    async def run() -> tuple[Upstream, bytes, bool]:
        upstream, _ = opened(descriptor)
        upstream.start(b"HEAD", [b"BODY"], complete=True)
        for piece in answer:
            upstream.data_received(piece)
        if eof:
            upstream.eof_received()
        return upstream, await body_of(upstream), upstream.finish()

    return asyncio.run(run())


LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: application/json\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
UNFRAMED = b"HTTP/1.1 200 OK\r\nx-a: b\r\n\r\nhello"


def test_a_body_by_length_leaves_the_connection_usable(descriptor: int) -> None:
    upstream, body, reusable = exchange(descriptor, LENGTH)
    assert (upstream.status, body, reusable) == (200, b"hello", True)
    assert upstream.headers == [(b"content-length", b"5"), (b"content-type", b"application/json")]
    assert upstream.content_type == b"application/json"


def test_a_chunked_body_loses_its_framing_only(descriptor: int) -> None:
    upstream, body, reusable = exchange(descriptor, CHUNKED)
    assert (body, reusable, upstream.headers) == (b"hello", True, [])


def test_a_body_without_framing_ends_with_the_connection(descriptor: int) -> None:
    _, body, reusable = exchange(descriptor, UNFRAMED, eof=True)
    assert (body, reusable) == (b"hello", False)


@settings(deadline=None)
@given(st.sampled_from([LENGTH, CHUNKED]), st.integers(1, 30))
def test_pieces_of_any_size_give_the_same_body(answer: bytes, step: int) -> None:
    read_end, write_end = os.pipe()
    try:
        pieces = [answer[at : at + step] for at in range(0, len(answer), step)]
        assert exchange(read_end, *pieces)[1:] == (b"hello", True)
    finally:
        os.close(read_end)
        os.close(write_end)


def test_interim_responses_are_skipped(descriptor: int) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    upstream, body, reusable = exchange(descriptor, interim, LENGTH)
    assert (upstream.status, body, reusable) == (200, b"hello", True)
    assert (b"link", b"x") not in [(name.lower(), value) for name, value in upstream.headers]


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_a_response_without_a_body_is_complete(descriptor: int, status: bytes) -> None:
    assert exchange(descriptor, b"HTTP/1.1 " + status + b"\r\n\r\n")[1:] == (b"", True)


@pytest.mark.parametrize(
    "answer",
    [LENGTH.replace(b"200 OK\r\n", b"200 OK\r\nConnection: close\r\n"), LENGTH.replace(b"1.1", b"1.0")],
)
def test_an_upstream_that_will_close_is_not_used_again(descriptor: int, answer: bytes) -> None:
    assert exchange(descriptor, answer)[1:] == (b"hello", False)


def test_bytes_after_the_response_spoil_the_connection_not_the_response(descriptor: int) -> None:
    assert exchange(descriptor, LENGTH + b"HTTP/1.1 200 OK\r\n\r\n")[1:] == (b"hello", False)
    assert exchange(descriptor, LENGTH, b"more")[1:] == (b"hello", False)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 2",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        LENGTH[:-1],
        CHUNKED[:-5],
        CHUNKED[:-2],
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_an_answer_that_is_not_whole_is_lost(descriptor: int, answer: bytes) -> None:
    with pytest.raises(UpstreamLost):
        exchange(descriptor, *([answer] if answer else []), eof=True)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=200))
def test_hostile_bytes_end_in_one_error(data: bytes) -> None:
    read_end, write_end = os.pipe()
    try:
        exchange(read_end, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data, eof=True)
    except UpstreamLost:
        return
    finally:
        os.close(read_end)
        os.close(write_end)


def test_what_came_before_a_cut_is_given_out_first(descriptor: int) -> None:
    async def run() -> None:
        upstream, _ = opened(descriptor)
        upstream.start(b"H", [], complete=True)
        upstream.data_received(LENGTH[:-2])
        upstream.connection_lost(ConnectionResetError("reset"))
        await upstream.answered()
        assert await upstream.piece() == (b"hel", False)
        with pytest.raises(UpstreamLost, match="reset"):
            await upstream.piece()

    asyncio.run(run())


def test_a_reset_of_a_body_without_framing_is_no_end(descriptor: int) -> None:
    async def run() -> None:
        upstream, _ = opened(descriptor)
        upstream.start(b"H", [], complete=True)
        upstream.data_received(UNFRAMED)
        upstream.connection_lost(ConnectionResetError("reset"))
        with pytest.raises(UpstreamLost):
            await body_of(upstream)

    asyncio.run(run())


def test_an_answer_before_the_request_is_sent_ends_the_connection(descriptor: int) -> None:
    async def run() -> None:
        upstream, wire = opened(descriptor)
        upstream.start(b"H", [], complete=False, chunked=True)
        upstream.write(b"abc")
        upstream.data_received(LENGTH)
        assert await body_of(upstream) == b"hello"
        assert upstream.finish() is False
        assert wire.aborted

    asyncio.run(run())


def test_a_streamed_body_is_framed_as_the_head_says(descriptor: int) -> None:
    async def run() -> None:
        for chunked, expected in ((True, b"H3\r\nabc\r\n0\r\n\r\n"), (False, b"Habc")):
            upstream, wire = opened(descriptor)
            upstream.start(b"H", [], complete=False, chunked=chunked)
            upstream.write(b"abc")
            upstream.write(b"")
            upstream.end()
            assert wire.written == expected

    asyncio.run(run())


def test_the_first_pieces_of_a_chunked_body_are_framed_too(descriptor: int) -> None:
    async def run() -> None:
        upstream, wire = opened(descriptor)
        upstream.start(b"H", [b"ab", b"", b"c"], complete=False, chunked=True)
        upstream.end()
        assert wire.written == b"H2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"

    asyncio.run(run())


def test_a_slow_reader_stops_the_upstream(descriptor: int) -> None:
    async def run() -> None:
        upstream, wire = opened(descriptor)
        upstream.start(b"H", [], complete=True)
        upstream.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        upstream.data_received(b"x" * 300_000)
        assert not wire.reading
        await upstream.answered()
        assert len((await upstream.piece())[0]) == 300_000
        assert wire.reading

    asyncio.run(run())


def test_a_full_upstream_stops_the_caller_until_it_takes_more(descriptor: int) -> None:
    async def run() -> None:
        upstream, _ = opened(descriptor)
        upstream.start(b"H", [], complete=False)
        await upstream.drain()
        upstream.pause_writing()
        draining = asyncio.ensure_future(upstream.drain())
        await asyncio.sleep(0)
        assert not draining.done()
        upstream.resume_writing()
        await draining

    asyncio.run(run())


def test_failing_from_outside_wakes_the_waiter_and_closes(descriptor: int) -> None:
    async def run() -> None:
        upstream, wire = opened(descriptor)
        upstream.start(b"H", [], complete=True)
        waiting = asyncio.ensure_future(upstream.answered())
        await asyncio.sleep(0)
        upstream.fail(TimeoutError("late"))
        with pytest.raises(TimeoutError):
            await waiting
        assert wire.aborted
        assert upstream.finish() is False

    asyncio.run(run())


def test_an_idle_connection_is_stale_once_the_peer_has_closed_or_spoken() -> None:
    async def run() -> None:
        for ending in ("closed", "spoke"):
            read_end, write_end = os.pipe()
            upstream, _ = opened(read_end)
            assert upstream.is_fresh()
            if ending == "spoke":
                os.write(write_end, b"x")
            os.close(write_end)
            assert not upstream.is_fresh()
            os.close(read_end)

    asyncio.run(run())


def test_bytes_on_an_idle_connection_close_it(descriptor: int) -> None:
    async def run() -> None:
        upstream, wire = opened(descriptor)
        upstream.data_received(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        assert wire.aborted
        assert not upstream.is_fresh()

    asyncio.run(run())
