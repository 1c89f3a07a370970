"""Limits count what is declared and what is received."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.asgi.body import ClientGone, limited, read_body
from roost.asgi.types import Message, Receive, Scope
from roost.errors import BadRequest, PayloadTooLarge


def receiver(pieces: list[bytes], *, leaves: bool = False) -> Receive:
    """A caller who sends these pieces, and then is done or leaves."""
    messages: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if leaves:
        messages.append({"type": "http.disconnect"})
    else:
        messages[-1]["more_body"] = False
    rest = iter(messages)

    async def receive() -> Message:
        return next(rest)

    return receive


def scope(length: bytes | None = None) -> Scope:
    return {"type": "http", "headers": [] if length is None else [(b"content-length", length)]}


def read(pieces: list[bytes], limit: int, length: bytes | None = None) -> bytes:
    return asyncio.run(read_body(scope(length), receiver(pieces), limit))


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20), min_size=1, max_size=8), st.integers(0, 60))
def test_a_body_is_whole_or_refused(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    if limit and len(whole) > limit:
        with pytest.raises(PayloadTooLarge):
            read(pieces, limit)
    else:
        assert read(pieces, limit) == whole


def test_a_declared_length_over_the_limit_is_refused_before_reading() -> None:
    async def never() -> Message:
        raise AssertionError("the body was read")

    with pytest.raises(PayloadTooLarge, match="limit of 10 bytes"):
        asyncio.run(read_body(scope(b"11"), never, 10))
    with pytest.raises(PayloadTooLarge):
        limited(never, scope(b"9" * 5000), 10)


def test_a_length_that_lies_low_does_not_help() -> None:
    with pytest.raises(PayloadTooLarge):
        read([b"12345", b"678901"], 10, b"3")


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"0x10", b"", b"\xb2"])
def test_a_length_that_is_no_number_is_refused(length: bytes) -> None:
    with pytest.raises(BadRequest, match="Content-Length"):
        read([b"a"], 10, length)


def test_a_caller_who_leaves_midway_ends_the_read() -> None:
    with pytest.raises(ClientGone):
        asyncio.run(read_body(scope(), receiver([b"a"], leaves=True), 10))


def test_zero_is_no_limit() -> None:
    receive = receiver([b"a" * 1000])
    assert limited(receive, scope(b"1000"), 0) is receive


def test_the_stream_raises_at_the_piece_that_is_over() -> None:
    async def steps() -> None:
        receive = limited(receiver([b"12345", b"67890", b"1"]), scope(), 10)
        assert (await receive())["body"] == b"12345"
        assert (await receive())["body"] == b"67890"
        with pytest.raises(PayloadTooLarge):
            await receive()

    asyncio.run(steps())
