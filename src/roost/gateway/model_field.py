"""Finds `model` in a JSON body without decoding the rest."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from roost.asgi.types import Receive
from roost.errors import BadRequest, ValidationFailed
from roost.gateway.pieces import Pieces

MAX_MODEL_LENGTH: Final = 300

# Below this, decoding the whole body past `model` is cheaper than looking for it.
_SMALL_BYTES: Final = 4096
_WINDOW_BYTES: Final = 1024

_SPACE: Final = rb"[ \t\r\n]*+"
_STRING: Final = rb'"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+"'
_SCALAR: Final = rb"(?:-?[0-9][0-9.eE+-]*+|true|false|null)"
_MEMBER: Final = _SPACE + _STRING + _SPACE + b":" + _SPACE + b"(?:" + _STRING + b"|" + _SCALAR + b")" + _SPACE
_EARLY: Final = re.compile(
    _SPACE
    + rb"\{(?:"
    + _MEMBER
    + rb",)*?"
    + _SPACE
    + b'"model"'
    + _SPACE
    + b":"
    + _SPACE
    + b"("
    + _STRING
    + b")"
)


class _Body(msgspec.Struct):
    model: str


_body_decoder: Final = msgspec.json.Decoder(_Body)
_text_decoder: Final = msgspec.json.Decoder(str)


async def read_json_model(pieces: Pieces, receive: Receive) -> str:
    """The `model` of a JSON body, reading no more of it than is needed; what is read stays in `pieces`.

    When `model` is among the first short members, the first one counts and the rest is not looked
    at; otherwise the body is read whole, is checked to be JSON, and the last one counts.

    Raises:
        BadRequest: when the body is not JSON.
        ValidationFailed: when there is no `model`, or it is not text of 1 to 300 characters.
        PayloadTooLarge, ClientGone: from reading.
    """
    if pieces.more or pieces.size > _SMALL_BYTES:
        while pieces.more and pieces.size < _WINDOW_BYTES:
            await pieces.read(receive)
        early = _EARLY.match(pieces.joined(), 0, _WINDOW_BYTES)
        if early is not None:
            return check_model(_decoded_text(early[1]))
    while pieces.more:
        await pieces.read(receive)
    return model_of(pieces.joined())


def model_of(body: bytes) -> str:
    """The `model` of a whole JSON object; for duplicates the last one counts.

    Raises:
        BadRequest: when it is not JSON.
        ValidationFailed: when there is no `model`, or it is not text of 1 to 300 characters.
    """
    try:
        return check_model(_body_decoder.decode(body).model)
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"The body is not valid JSON: {error}.") from error


def check_model(model: str) -> str:
    """`model` itself, when it is 1 to 300 characters.

    Raises:
        ValidationFailed: when it is not.
    """
    if not 0 < len(model) <= MAX_MODEL_LENGTH:
        raise _invalid(f"it must be 1 to {MAX_MODEL_LENGTH} characters, not {len(model)}")
    return model


def _decoded_text(raw: bytes) -> str:
    try:
        return _text_decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"The body is not valid JSON: {error}.") from error


def _invalid(rule: str) -> ValidationFailed:
    return ValidationFailed(
        f"The request's 'model' is not valid: {rule}.",
        hint='Send "model" with the name of a deployment: GET /v1/models lists them.',
        issues=[{"loc": ["model"], "message": rule}],
    )
