"""Calls of the inference routes, one a capability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roost.client.call import Call, request_of
from roost.client.images import ImageLike
from roost.client.media_call import json_call, media_call
from roost.contracts.array import NDArray
from roost.contracts.detection import DetectionParameters, DetectionRequest, DetectionResponse
from roost.contracts.embedding import EmbeddingParameters, EmbeddingRequest, EmbeddingResponse
from roost.contracts.ner import NERRequest, NERResponse
from roost.contracts.segmentation import SegmentationParameters, SegmentationRequest, SegmentationResponse
from roost.contracts.tracking import TrackingParameters, TrackingRequest, TrackingResponse
from roost.contracts.vlm import VLMParameters, VLMRequest, VLMResponse

if TYPE_CHECKING:
    from roost.contracts.array import ArrayLike

Images = ImageLike | Sequence[ImageLike]


def segmentation(
    image: ImageLike, *, timeout_s: float | None, **parameters: Any
) -> Call[SegmentationResponse]:
    """With the fields of `SegmentationParameters`."""
    return media_call(
        "segmentation",
        "image",
        [image],
        SegmentationResponse,
        metadata=lambda: request_of(SegmentationParameters, **parameters),
        request=lambda texts: request_of(SegmentationRequest, image=texts[0], **parameters),
        timeout_s=timeout_s,
    )


def detection(image: ImageLike, *, timeout_s: float | None, **parameters: Any) -> Call[DetectionResponse]:
    """With the fields of `DetectionParameters`."""
    return media_call(
        "detection",
        "image",
        [image],
        DetectionResponse,
        metadata=lambda: request_of(DetectionParameters, **parameters),
        request=lambda texts: request_of(DetectionRequest, image=texts[0], **parameters),
        timeout_s=timeout_s,
    )


def tracking(video: Images, *, timeout_s: float | None, **parameters: Any) -> Call[TrackingResponse]:
    """With the fields of `TrackingParameters`."""
    return media_call(
        "tracking",
        "frames",
        listed(video),
        TrackingResponse,
        metadata=lambda: request_of(TrackingParameters, **parameters),
        request=lambda texts: request_of(TrackingRequest, video=texts, **parameters),
        timeout_s=timeout_s,
    )


def vlm(
    images: Sequence[ImageLike] | None, *, timeout_s: float | None, **parameters: Any
) -> Call[VLMResponse]:
    """With the fields of `VLMParameters`."""
    return media_call(
        "vlm",
        "images",
        list(images or ()),
        VLMResponse,
        metadata=lambda: request_of(VLMParameters, **parameters),
        request=lambda texts: request_of(VLMRequest, images=texts or None, **parameters),
        timeout_s=timeout_s,
    )


def ner(*, timeout_s: float | None, **parameters: Any) -> Call[NERResponse]:
    """With the fields of `NERRequest`."""
    return json_call("ner", request_of(NERRequest, **parameters), NERResponse, timeout_s)


def embedding(
    image: Images | None, text: str | Sequence[str] | None, *, timeout_s: float | None, **parameters: Any
) -> Call[EmbeddingResponse]:
    """With the fields of `EmbeddingParameters`."""
    texts = text if text is None or isinstance(text, str) else [*text]

    def request(images: list[str]) -> EmbeddingRequest:
        given = None if image is None else images
        return request_of(EmbeddingRequest, image=given, text=texts, **parameters)

    def metadata() -> EmbeddingParameters:
        # A form carries no text: given both, the caller is told by the rule of the request.
        return request_of(EmbeddingParameters, **parameters) if text is None else request(["beside a text"])

    return media_call(
        "embedding",
        "image",
        [] if image is None else listed(image),
        EmbeddingResponse,
        metadata=metadata,
        request=request,
        timeout_s=timeout_s,
    )


def listed(images: Images) -> list[ImageLike]:
    """One image, or several, as a list."""
    return [*images] if isinstance(images, Sequence) and not isinstance(images, (str, bytes)) else [images]


def wire_array(array: ArrayLike | None) -> NDArray | None:
    """An array as it goes over the wire; what is no `NDArray` is sent as 32-bit floats."""
    return array if array is None or isinstance(array, NDArray) else NDArray.from_numpy(array, "float32")
