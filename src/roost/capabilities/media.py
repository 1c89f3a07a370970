"""Loads the media of a request under a policy, wherever they come from."""

from __future__ import annotations

import re

import pybase64
from PIL import Image

from roost.capabilities.decode import decode_image
from roost.capabilities.fetch import fetch
from roost.capabilities.local_file import read_local
from roost.capabilities.policy import MediaPolicy
from roost.errors import InvalidMedia

__all__ = ["MediaPolicy", "load_image", "read_media"]

MAX_PATH_LENGTH = 4096

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]{0,31}):")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=\r\n]")


def load_image(source: str | bytes, policy: MediaPolicy) -> Image.Image:
    """The image as RGB, upright (its EXIF orientation is applied); of an animation the first frame.

    Args:
        source: Encoded bytes, or a string: base64, a `data:...;base64,` URI, an http(s) URL, or a path
            below one of the policy's media roots. A string without a scheme is a path when it holds a
            character that base64 lacks (the dot before an extension is enough).

    Raises:
        InvalidMedia: for an image that is broken, cut off or of another format, a URL or a path that
            is out of bounds or does not answer.
        PayloadTooLarge: for more bytes or pixels than the policy allows.
    """
    return decode_image(read_media(source, policy), policy)


def read_media(source: str | bytes, policy: MediaPolicy) -> bytes:
    """The encoded bytes of an image or a video.

    Args:
        source: As `load_image` takes it.

    Raises:
        InvalidMedia, PayloadTooLarge: as `load_image`, but for what is in the bytes.
    """
    if isinstance(source, bytes):
        return source
    scheme = _scheme(source)
    if scheme == "data":
        return _from_data_uri(source, policy)
    if scheme in ("http", "https"):
        return fetch(source, policy)
    if scheme is not None:
        raise InvalidMedia(
            f"media {_shown(source)} has the scheme {scheme!r}, which is not allowed.",
            hint="Use http, https or data.",
        )
    if _looks_like_path(source):
        return read_local(source, policy)
    return _from_base64(source, policy)


def _scheme(source: str) -> str | None:
    # Base64 has no colon, so one near the start can only end a scheme.
    match = _SCHEME.match(source)
    return match[1].lower() if match else None


def _looks_like_path(source: str) -> bool:
    return len(source) <= MAX_PATH_LENGTH and _NOT_BASE64.search(source) is not None


def _from_data_uri(source: str, policy: MediaPolicy) -> bytes:
    head, comma, payload = source.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise InvalidMedia(
            f"data URI {_shown(source)} is not valid: it must hold base64.",
            hint="Write it as data:image/jpeg;base64,... .",
        )
    return _from_base64(payload, policy)


def _from_base64(text: str, policy: MediaPolicy) -> bytes:
    policy.check_size(len(text) // 4 * 3 - text[-2:].count("="), "media")
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError as error:
        # Encoders for mail wrap lines; nothing else may be between the characters.
        if "\n" in text:
            return _from_base64(text.replace("\r", "").replace("\n", ""), policy)
        raise InvalidMedia(
            f"media {_shown(text)} is not valid base64.",
            hint="Send base64 of the encoded image, a data URI or an http(s) URL.",
        ) from error


def _shown(text: str) -> str:
    shown = repr(text[:64])
    return shown if len(text) <= 64 else f"{shown}..."
