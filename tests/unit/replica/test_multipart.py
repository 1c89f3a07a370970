from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import BadRequest, RoostError, UnsupportedMediaType
from roost.replica.multipart import MAX_PARTS, parse_parts

TYPE = b"multipart/form-data; boundary=XX"


def encoded(*parts: tuple[str, bytes]) -> bytes:
    pieces = [
        b'--XX\r\nContent-Disposition: form-data; name="' + name.encode() + b'"\r\n\r\n' + data + b"\r\n"
        for name, data in parts
    ]
    return b"".join(pieces) + b"--XX--\r\n"


def test_parts_come_with_their_names_in_order() -> None:
    body = encoded(("metadata", b'{"model": "m"}'), ("image", b"\x89PNG\r\n\x00"), ("image", b""))
    assert parse_parts(TYPE, body) == [
        ("metadata", b'{"model": "m"}'),
        ("image", b"\x89PNG\r\n\x00"),
        ("image", b""),
    ]


def test_a_file_name_and_a_content_type_are_ignored() -> None:
    body = (
        b'--XX\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n'
        b"Content-Type: image/png\r\n\r\nabc\r\n--XX--\r\n"
    )
    assert parse_parts(b'multipart/form-data; boundary="XX"', body) == [("image", b"abc")]


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        b"",
        b"application/json",
        b"multipart/form-data",
        b"multipart/form-data; boundary=",
        b"multipart/mixed; boundary=XX",
    ],
)
def test_other_content_types_are_refused(content_type: bytes | None) -> None:
    with pytest.raises(UnsupportedMediaType, match="cannot be read here"):
        parse_parts(content_type, encoded(("metadata", b"{}")))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not multipart",
        encoded(("metadata", b"{}"))[:-4],
        encoded(("metadata", b"{}"))[:30],
        b"--XX\r\n\r\nno name\r\n--XX--\r\n",
        b'--XX\r\nContent-Disposition: form-data; name=""\r\n\r\nx\r\n--XX--\r\n',
    ],
)
def test_broken_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        parse_parts(TYPE, body)


def test_a_flood_of_parts_is_refused() -> None:
    with pytest.raises(BadRequest, match="more than 4096 parts"):
        parse_parts(TYPE, encoded(*[("image", b"")] * (MAX_PARTS + 1)))


@given(st.lists(st.binary().filter(lambda data: b"--XX" not in data)))
def test_any_bytes_come_back_as_they_were(payloads: list[bytes]) -> None:
    parts = [("image", payload) for payload in payloads]
    if parts:
        assert parse_parts(TYPE, encoded(*parts)) == parts


@given(st.binary(max_size=400), st.binary(max_size=60))
def test_hostile_bytes_raise_only_our_errors(body: bytes, content_type: bytes) -> None:
    for kind in (TYPE, content_type, b"multipart/form-data; boundary=" + content_type):
        with contextlib.suppress(RoostError):
            parse_parts(kind, b"--XX\r\n" + body)
