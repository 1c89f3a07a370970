"""`model` is found in any JSON body, or the body is refused in our own terms."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.asgi.types import Message, Receive
from roost.errors import BadRequest, RoostError, ValidationFailed
from roost.gateway.model_field import read_json_model
from roost.gateway.pieces import Pieces

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def receiver(pieces: list[bytes]) -> Receive:
    rest = [
        {"type": "http.request", "body": piece, "more_body": at < len(pieces) - 1}
        for at, piece in enumerate(pieces)
    ]
    messages = iter(rest)

    async def receive() -> Message:
        return next(messages)

    return receive


def read(body: bytes, step: int = 10**9) -> tuple[str, Pieces]:
    """Reads `body` arriving in pieces of `step` bytes."""
    pieces = Pieces()
    cut = [body[at : at + step] for at in range(0, len(body), step)] or [b""]

    async def run() -> str:
        receive = receiver(cut)
        await pieces.read(receive)
        return await read_json_model(pieces, receive)

    return asyncio.run(run()), pieces


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5), st.text(min_size=1, max_size=20), st.data())
def test_it_is_found_wherever_it_stands(rest: dict[str, Any], model: str, data: st.DataObject) -> None:
    rest.pop("model", None)
    members = list(rest.items())
    members.insert(data.draw(st.integers(0, len(members))), ("model", model))
    body = json.dumps(
        dict(members), ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.none() | st.just(1))
    )
    step = data.draw(st.sampled_from([1, 7, 10**9]))
    found, pieces = read(body.encode(), step)
    assert found == model
    assert body.encode().startswith(b"".join(pieces.chunks))


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode), st.sampled_from([3, 10**9]))
def test_hostile_bytes_end_in_our_errors(body: bytes, step: int) -> None:
    try:
        found, _ = read(body, step)
    except RoostError:
        return
    assert 1 <= len(found) <= 300


def test_a_long_body_is_not_read_to_its_end() -> None:
    body = json.dumps({"classes": None, "model": "m", "image": "A" * 100_000}).encode()
    found, pieces = read(body, 2000)
    assert found == "m"
    assert pieces.size == 2000
    assert pieces.more


def test_a_model_at_the_end_of_a_long_body_is_found() -> None:
    body = json.dumps({"image": "A" * 100_000, "model": "m"}).encode()
    found, pieces = read(body, 2000)
    assert found == "m"
    assert pieces.size == len(body)


@pytest.mark.parametrize(
    "nested", ['{"a": {"model": "inner"}, "x": "%s"}', '{"a": [{"model": "inner"}], "x": "%s"}']
)
def test_a_nested_model_is_not_it(nested: str) -> None:
    with pytest.raises(ValidationFailed, match="model"):
        read((nested % ("A" * 10_000)).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"model": ""}',
        b'{"model": 5}',
        b'{"model": null}',
        b'{"model": ["a"]}',
        b'"model"',
        b"[]",
        b'{"model": "%s"}' % (b"x" * 301),
    ],
)
def test_no_proper_model_is_a_validation_error(body: bytes) -> None:
    with pytest.raises(ValidationFailed) as caught:
        read(body)
    assert caught.value.issues is not None
    assert caught.value.issues[0]["loc"] == ["model"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b'{"model": "a"',
        b'{"model": "\xff"}',
        b'{"a": ' + b"[" * 100_000,
        b'{"model": "\\ud8"}',
    ],
)
def test_no_json_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequest):
        read(body)


def test_many_members_take_no_time() -> None:
    body = b"{" + b'"a":"' * 50_000
    with pytest.raises(BadRequest):
        read(body)
