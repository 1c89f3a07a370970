"""The call of an inference route: as JSON, or as a multipart form when the media are at hand."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from roost.client.call import Call, Part, parse_model
from roost.client.images import ImageLike, image_upload
from roost.contracts.envelope import InferenceRequest

Response = TypeVar("Response", bound=BaseModel)

JSON = "application/json"


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


def binary_call(
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


def uploads_of(images: Sequence[ImageLike]) -> list[bytes] | None:
    """The bytes of images that are all at hand; None when the server has to read one of them itself.

    Raises:
        InvalidMedia: as `image_upload`.
    """
    uploads = [image_upload(image) for image in images]
    at_hand = [upload for upload in uploads if upload is not None]
    return at_hand if at_hand and len(at_hand) == len(uploads) else None


def as_text(image: ImageLike) -> str:
    """An image as a JSON request carries it.

    Raises:
        InvalidMedia: as `image_upload`.
    """
    upload = image_upload(image)
    if upload is None:
        assert isinstance(image, str)
        return image
    return b64encode(upload).decode()
