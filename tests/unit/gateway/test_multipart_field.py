"""`model` is found in the metadata part of a multipart body."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.asgi.types import Message
from roost.errors import BadRequest, PayloadTooLarge, RoostError, UnsupportedMediaType, ValidationFailed
from roost.gateway.multipart_field import read_multipart_model
from roost.gateway.pieces import Pieces

TYPE = b"multipart/form-data; boundary=frontier"


def part(name: str, data: bytes, extra: str = "") -> bytes:
    head = f'--frontier\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n'
    return head.encode() + data + b"\r\n"


METADATA = part("metadata", b'{"model": "family/x"}')
IMAGE = part("image", b"\xff\xd8--frontie" * 9000, '; filename="a.jpg"\r\nContent-Type: image/jpeg')
END = b"--frontier--\r\n"


def read(body: bytes, step: int, content_type: bytes = TYPE) -> tuple[str, Pieces]:
    pieces = Pieces()
    at = 0

    async def receive() -> Message:
        nonlocal at
        piece = body[at : at + step]
        at += step
        return {"type": "http.request", "body": piece, "more_body": at < len(body)}

    async def run() -> str:
        await pieces.read(receive)
        return await read_multipart_model(pieces, receive, content_type)

    return asyncio.run(run()), pieces


@pytest.mark.parametrize("step", [1000, 10**9])
def test_metadata_first_is_found_without_reading_on(step: int) -> None:
    found, pieces = read(METADATA + IMAGE + END, step)
    assert found == "family/x"
    assert pieces.size == min(step, len(METADATA + IMAGE + END))


@pytest.mark.parametrize("step", [13, 1000, 10**9])
def test_metadata_after_the_media_is_found(step: int) -> None:
    body = IMAGE + METADATA + END
    found, pieces = read(body, step)
    assert found == "family/x"
    assert body.startswith(b"".join(pieces.chunks))


def test_without_metadata_it_is_named_as_missing() -> None:
    with pytest.raises(ValidationFailed, match="'metadata' part"):
        read(IMAGE + END, 1000)


def test_a_part_that_is_cut_short_does_not_count() -> None:
    with pytest.raises(ValidationFailed):
        read(METADATA[:-4], 1000)


def test_metadata_that_is_not_json_is_refused() -> None:
    with pytest.raises(BadRequest, match="JSON"):
        read(part("metadata", b"model=x") + END, 1000)


def test_endless_metadata_is_refused() -> None:
    with pytest.raises(PayloadTooLarge, match="metadata"):
        read(part("metadata", b"x" * 1_100_000), 64 * 1024)


@pytest.mark.parametrize("content_type", [b"multipart/form-data", b"multipart/form-data; boundary="])
def test_a_type_without_a_boundary_is_refused(content_type: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="boundary"):
        read(METADATA + END, 1000, content_type)


@settings(deadline=None)
@given(st.binary(max_size=300), st.binary(max_size=60), st.sampled_from([5, 10**9]))
def test_hostile_bytes_end_in_our_errors(body: bytes, tail: bytes, step: int) -> None:
    for hostile in (body or b"x", b"--frontier\r\n" + body, METADATA[:40] + body + tail):
        try:
            read(hostile, step)
        except RoostError:
            continue


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_hostile_content_types_end_in_our_errors(content_type: bytes) -> None:
    try:
        read(METADATA + END, 1000, content_type)
    except RoostError:
        return
