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


_PICTURE_SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})

ImageLike = str | Path | bytes | Picture


def image_upload(image: ImageLike) -> bytes | None:
    """The encoded bytes to upload, or None when `image` is a string the server reads itself.

    A string is sent as it is when it is a URL, a data URI or base64; one that names a file here is
    read, like a `Path`.

    Raises:
        InvalidMedia: when a path cannot be read, a string names a picture file that is not there, or
            the type is not one of `ImageLike`.
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
        if path.is_file():
            return path
    except OSError:
        return None
    if path.suffix.lower() in _PICTURE_SUFFIXES or path.is_dir():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidMedia(f"image {text!r} {what}.", hint="Pass the path of a picture on this machine.")
    return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidMedia(f"image {str(path)!r} cannot be read: {error.strerror or error}.") from error
