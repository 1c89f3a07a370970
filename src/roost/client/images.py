"""Turns what a caller has (path, bytes, picture) into what goes over the wire."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from roost.errors import InvalidMedia


@runtime_checkable
class Picture(Protocol):
    """A Pillow image, without importing Pillow."""

    def save(self, fp: Any, format: str | None = None) -> None:
        """Write the encoded picture to a file object."""
        ...


ImageLike = str | Path | bytes | Picture


def image_upload(image: ImageLike) -> bytes | None:
    """The encoded bytes to upload, or None when `image` is a string the server reads itself.

    A string is sent as it is when it is a URL, a data URI or base64; one that names a file here is
    read, like a `Path`.

    Raises:
        InvalidMedia: when a path cannot be read, or the type is not one of `ImageLike`.
    """
    if isinstance(image, bytes):
        return image
    if isinstance(image, Path):
        return _read(image)
    if isinstance(image, str):
        path = _existing_file(image)
        return _read(path) if path is not None else None
    if isinstance(image, Picture):
        buffer = BytesIO()
        image.save(buffer, format="PNG")
        return buffer.getvalue()
    raise InvalidMedia(
        f"{type(image).__name__} is not an image.",
        hint="Pass a path, bytes, a URL, base64 or a Pillow image.",
    )


def _existing_file(text: str) -> Path | None:
    if len(text) > 4096 or "\0" in text or text.startswith(("http://", "https://", "data:")):
        return None
    path = Path(text)
    try:
        return path if path.is_file() else None
    except OSError:
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidMedia(f"image {str(path)!r} cannot be read: {error.strerror or error}.") from error
