"""The call of an inference route: as JSON, or as a multipart form when the media are at hand."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from roost.client.call import Call, Part, parse_model
from roost.client.images import ImageLike, image_upload
from roost.contracts.envelope import InferenceRequest

Response = TypeVar("Response", bound=BaseModel)

JSON = "application/json"


def media_call(
    capability: str,
    field: str,
    media: Sequence[ImageLike],
    response: type[Response],
    *,
    metadata: Callable[[], InferenceRequest],
    request: Callable[[list[str]], InferenceRequest],
    timeout_s: float | None,
) -> Call[Response]:
    """A multipart form with `metadata` when all media are at hand, else the JSON `request` with their texts.

    Raises:
        InvalidMedia: as `image_upload`.
    """
    read = [image_upload(medium) for medium in media]
    uploads = [upload for upload in read if upload is not None]
    if uploads and len(uploads) == len(media):
        return _binary_call(capability, metadata(), field, uploads, response, timeout_s)
    texts = [_as_text(medium, upload) for medium, upload in zip(media, read, strict=True)]
    return json_call(capability, request(texts), response, timeout_s)


def json_call(
    capability: str, request: InferenceRequest, response: type[Response], timeout_s: float | None
) -> Call[Response]:
    """`POST /v1/inference/{capability}`."""
    return Call(
        "POST",
        f"/v1/inference/{capability}",
        parse_model(response),
        content=request.to_json(),
        timeout_s=timeout_s,
    )


def _binary_call(
    capability: str,
    metadata: InferenceRequest,
    field: str,
    uploads: Sequence[bytes],
    response: type[Response],
    timeout_s: float | None,
) -> Call[Response]:
    """`POST /v1/inference/{capability}/binary`, with a part `field` for each of `uploads`."""
    media: list[Part] = [(field, (field, upload, "application/octet-stream")) for upload in uploads]
    return Call(
        "POST",
        f"/v1/inference/{capability}/binary",
        parse_model(response),
        parts=(("metadata", ("metadata", metadata.to_json(), JSON)), *media),
        timeout_s=timeout_s,
    )


def _as_text(medium: ImageLike, upload: bytes | None) -> str:
    """As a JSON request carries it: base64, or the string that the server reads itself."""
    if upload is not None:
        return b64encode(upload).decode()
    assert isinstance(medium, str)
    return medium
