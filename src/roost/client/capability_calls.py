"""Calls of the inference routes, one a capability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roost.client.call import Call, request_of
from roost.client.images import ImageLike
from roost.client.media_call import as_text, binary_call, json_call, uploads_of
from roost.contracts.array import NDArray
from roost.contracts.detection import DetectionParameters, DetectionRequest, DetectionResponse
from roost.contracts.embedding import EmbeddingParameters, EmbeddingRequest, EmbeddingResponse
from roost.contracts.ner import NERRequest, NERResponse
from roost.contracts.segmentation import SegmentationParameters, SegmentationRequest, SegmentationResponse
from roost.contracts.tracking import (
    TrackingInterval,
    TrackingKeyframe,
    TrackingParameters,
    TrackingRequest,
    TrackingResponse,
)
from roost.contracts.vlm import Message, VLMParameters, VLMRequest, VLMResponse

if TYPE_CHECKING:
    from roost.contracts.array import ArrayLike

Images = ImageLike | Sequence[ImageLike]


def segmentation(
    image: ImageLike, *, timeout_s: float | None, **parameters: Any
) -> Call[SegmentationResponse]:
    """With the fields of `SegmentationParameters`."""
    uploads = uploads_of([image])
    if uploads is not None:
        metadata = request_of(SegmentationParameters, **parameters)
        return binary_call("segmentation", metadata, "image", uploads, SegmentationResponse, timeout_s)
    request = request_of(SegmentationRequest, image=image, **parameters)
    return json_call("segmentation", request, SegmentationResponse, timeout_s)


def detection(image: ImageLike, *, timeout_s: float | None, **parameters: Any) -> Call[DetectionResponse]:
    """With the fields of `DetectionParameters`."""
    uploads = uploads_of([image])
    if uploads is not None:
        metadata = request_of(DetectionParameters, **parameters)
        return binary_call("detection", metadata, "image", uploads, DetectionResponse, timeout_s)
    request = request_of(DetectionRequest, image=image, **parameters)
    return json_call("detection", request, DetectionResponse, timeout_s)


def tracking(video: Images, *, timeout_s: float | None, **parameters: Any) -> Call[TrackingResponse]:
    """With the fields of `TrackingParameters`."""
    sources = listed(video)
    uploads = uploads_of(sources)
    if uploads is not None:
        metadata = request_of(TrackingParameters, **parameters)
        return binary_call("tracking", metadata, "frames", uploads, TrackingResponse, timeout_s)
    request = request_of(TrackingRequest, video=[as_text(source) for source in sources], **parameters)
    return json_call("tracking", request, TrackingResponse, timeout_s)


def vlm(
    images: Sequence[ImageLike] | None, *, timeout_s: float | None, **parameters: Any
) -> Call[VLMResponse]:
    """With the fields of `VLMParameters`."""
    sources = list(images or ())
    uploads = uploads_of(sources)
    if uploads is not None:
        metadata = request_of(VLMParameters, **parameters)
        return binary_call("vlm", metadata, "images", uploads, VLMResponse, timeout_s)
    texts = [as_text(source) for source in sources]
    return json_call(
        "vlm", request_of(VLMRequest, images=texts or None, **parameters), VLMResponse, timeout_s
    )


def ner(*, timeout_s: float | None, **parameters: Any) -> Call[NERResponse]:
    """With the fields of `NERRequest`."""
    return json_call("ner", request_of(NERRequest, **parameters), NERResponse, timeout_s)


def embedding(
    image: Images | None, text: str | Sequence[str] | None, *, timeout_s: float | None, **parameters: Any
) -> Call[EmbeddingResponse]:
    """With the fields of `EmbeddingParameters`."""
    sources = [] if image is None else listed(image)
    uploads = uploads_of(sources) if text is None else None
    if uploads is not None:
        metadata = request_of(EmbeddingParameters, **parameters)
        return binary_call("embedding", metadata, "image", uploads, EmbeddingResponse, timeout_s)
    images = None if image is None else [as_text(source) for source in sources]
    texts = [*text] if text is not None and not isinstance(text, str) else text
    request = request_of(EmbeddingRequest, image=images, text=texts, **parameters)
    return json_call("embedding", request, EmbeddingResponse, timeout_s)


def listed(images: Images) -> list[ImageLike]:
    """One image, or several, as a list."""
    return [*images] if isinstance(images, Sequence) and not isinstance(images, (str, bytes)) else [images]


def wire_array(array: ArrayLike | None) -> NDArray | None:
    """An array as it goes over the wire; what is no `NDArray` is sent as 32-bit floats."""
    return array if array is None or isinstance(array, NDArray) else NDArray.from_numpy(array, "float32")


__all__ = [
    "Images",
    "Message",
    "TrackingInterval",
    "TrackingKeyframe",
    "detection",
    "embedding",
    "ner",
    "segmentation",
    "tracking",
    "vlm",
    "wire_array",
]
