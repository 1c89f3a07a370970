"""A stream of items on the wire: one JSON object a line (`application/x-ndjson`).

`{"item": ...}` for each, and as the last line `{"end": {"items": 3}}`, or the error body of what
ended it. A stream without its last line was cut. Empty lines say that it goes on. Lines end in `\n`
and nothing else does: whatever other line breaks a text holds stay in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from roost.contracts.base import Wire
from roost.contracts.error import ErrorBody
from roost.errors import InternalError, RoostError, Unavailable

CONTENT_TYPE: Final = "application/x-ndjson"
KEEP_ALIVE_LINE: Final = b"\n"

_ITEM: Final = b'{"item":'
_SHOWN_BYTES: Final = 80


class StreamCount(Wire):
    """How many items there were."""

    items: int


class StreamEnd(Wire):
    """The last line of a whole stream."""

    end: StreamCount


def item_line(json: bytes) -> bytes:
    """The line of an item, given as JSON without a line break."""
    return b"%b%b}\n" % (_ITEM, json)


def end_line(items: int) -> bytes:
    """The last line, after so many items."""
    return StreamEnd(end=StreamCount(items=items)).to_json() + b"\n"


def error_line(error: RoostError, request_id: str) -> bytes:
    """The last line of a stream that ends in an error."""
    return ErrorBody.of(error, request_id).to_json() + b"\n"


class StreamReader:
    """Finds the items in the pieces of a stream, wherever those are cut.

    Args:
        name: Of the endpoint, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._items = 0
        self._ended = False
        self._begun: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The JSON of each item whose line ends in `piece`.

        Raises:
            RoostError: that the stream ended in.
            InternalError: for a line that is none of a stream's.
        """
        head, *lines = piece.split(b"\n")
        self._begun.append(head)
        for line in lines:
            whole = b"".join(self._begun)
            self._begun = [line]
            if not whole:
                continue
            if self._ended or not (whole.startswith(_ITEM) and whole.endswith(b"}")):
                self._end(whole)
            else:
                self._items += 1
                yield whole[len(_ITEM) : -1]

    def finish(self) -> None:
        """To be called after the last piece.

        Raises:
            Unavailable: when the stream was cut.
        """
        if not self._ended or any(self._begun):
            raise Unavailable(
                f"The stream of {self._name!r} was cut after {self._items} items.",
                hint="The replica may have died; the call can be made again from its start.",
            )

    def _end(self, line: bytes) -> None:
        if self._ended:
            raise self._strange(line)
        if line.startswith(b'{"error":'):
            try:
                error = ErrorBody.model_validate_json(line).to_exception()
            except ValidationError:
                raise self._strange(line) from None
            raise error
        try:
            announced = StreamEnd.model_validate_json(line).end.items
        except ValidationError:
            raise self._strange(line) from None
        if announced != self._items:
            raise Unavailable(f"The stream of {self._name!r} lost items: {self._items} of {announced} came.")
        self._ended = True

    def _strange(self, line: bytes) -> InternalError:
        shown = line[:_SHOWN_BYTES].decode(errors="replace")
        return InternalError(
            f"The answer of {self._name!r} is not a stream of items: {shown!r}.",
            hint="The deployment may run another version of the class; its openapi.json describes it.",
        )
