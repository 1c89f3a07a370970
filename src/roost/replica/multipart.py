"""Reads a multipart body that is in memory already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from roost.errors import BadRequest, UnsupportedMediaType

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MAX_PARTS = 4096


def parse_parts(content_type: bytes | None, body: bytes) -> list[tuple[str, bytes]]:
    """The parts of a `multipart/form-data` body, as (name, bytes) in their order.

    Raises:
        UnsupportedMediaType: for another content type, or one without a boundary.
        BadRequest: when the body does not follow the format, or a part has no name.
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise UnsupportedMediaType(
            f"Content type {_text(content_type)!r} cannot be read here.",
            hint="Send multipart/form-data with a boundary, a JSON part 'metadata' and the raw media.",
        )
    reader = _PartReader()
    try:
        MultipartParser(boundary, reader.callbacks()).write(body)
    except FormParserError as error:
        raise BadRequest(f"The multipart body is broken: {error}") from error
    if not reader.is_complete:
        raise BadRequest("The multipart body ends before its closing boundary.")
    return reader.parts


class _PartReader:
    """Collects what the parser reports."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, bytes]] = []
        self.is_complete = False
        self._header = bytearray()
        self._value = bytearray()
        self._disposition = b""
        self._chunks: list[bytes] = []

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin_part,
            "on_header_field": lambda data, start, end: self._header.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_part_data": lambda data, start, end: self._chunks.append(data[start:end]),
            "on_part_end": self._end_part,
            "on_end": self._end,
        }

    def _begin_part(self) -> None:
        if len(self.parts) >= MAX_PARTS:
            raise BadRequest(f"The multipart body has more than {MAX_PARTS} parts.")
        self._disposition = b""
        self._chunks = []

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _end_part(self) -> None:
        name = parse_options_header(self._disposition)[1].get(b"name")
        if not name:
            raise BadRequest("A part of the multipart body has no name.")
        self.parts.append((_text(name), b"".join(self._chunks)))

    def _end(self) -> None:
        self.is_complete = True


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "replace")[:200]
