"""Finds `model` in the `metadata` part of a multipart body, as the body streams in."""

from __future__ import annotations

from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from roost.asgi.types import Receive
from roost.errors import BadRequest, PayloadTooLarge, UnsupportedMediaType, ValidationFailed
from roost.gateway.model_field import model_of
from roost.gateway.pieces import Pieces

_MAX_METADATA_BYTES: Final = 1024 * 1024


async def read_multipart_model(pieces: Pieces, receive: Receive, content_type: bytes) -> str:
    """The `model` of the `metadata` part, reading no more of the body than is needed; what is read
    stays in `pieces`.

    Raises:
        UnsupportedMediaType: when the content type has no boundary.
        BadRequest: when the body is not multipart, or the part is not JSON.
        ValidationFailed: when there is no such part, or no proper `model` in it.
        PayloadTooLarge: when the part is over 1 MiB.
        ClientGone: from reading.
    """
    search = _Search(_boundary(content_type))
    for piece in list(pieces.chunks):
        search.feed(piece)
    while search.found is None and pieces.more:
        search.feed(await pieces.read(receive))
    if search.found is None:
        raise ValidationFailed(
            "The multipart body has no 'metadata' part.",
            hint="Send the request's JSON as a part named metadata, best as the first one.",
            issues=[{"loc": ["metadata"], "message": "this part is missing"}],
        )
    return model_of(search.found)


def _boundary(content_type: bytes) -> bytes:
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= 200:
        raise UnsupportedMediaType(
            "The multipart content type has no valid boundary.", hint="Let the HTTP client set Content-Type."
        )
    return boundary


class _Search:
    """Fed with pieces until `found` holds the whole `metadata` part."""

    def __init__(self, boundary: bytes) -> None:
        self.found: bytes | None = None
        self._data: list[bytes] | None = None
        self._size = 0
        self._name = b""
        self._value = b""
        self._wanted = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_part_data": self._part_data,
                "on_part_end": self._part_end,
            },
        )

    def feed(self, piece: bytes) -> None:
        try:
            self._parser.write(piece)
        except FormParserError as error:
            if self.found is None:
                raise BadRequest(f"The body is not valid multipart: {error}.") from error

    def _part_begin(self) -> None:
        self._wanted = False
        self._data = []
        self._size = 0

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            self._wanted = options.get(b"name") == b"metadata"
        self._name = self._value = b""

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._wanted and self.found is None and self._data is not None:
            self._size += end - start
            if self._size > _MAX_METADATA_BYTES:
                raise PayloadTooLarge(f"The 'metadata' part is over {_MAX_METADATA_BYTES} bytes.")
            self._data.append(data[start:end])

    def _part_end(self) -> None:
        if self._wanted and self.found is None and self._data is not None:
            self.found = b"".join(self._data)
        self._data = None
