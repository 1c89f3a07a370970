"""Segmentation: the masks of objects in one image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from PIL import Image

from roost.capabilities.capability import Capability
from roost.capabilities.media import load_image
from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy
from roost.capabilities.sources import one_image, to_array
from roost.contracts.array import NDArray
from roost.contracts.mask import CompressedRLE
from roost.contracts.segmentation import (
    SegmentationInterface,
    SegmentationOutput,
    SegmentationParameters,
    SegmentationRequest,
    SegmentationResponse,
)

__all__ = [
    "SEGMENTATION",
    "CompressedRLE",
    "NDArray",
    "SegmentationInput",
    "SegmentationInterface",
    "SegmentationModel",
    "SegmentationOutput",
    "SegmentationParameters",
    "SegmentationRequest",
    "SegmentationResponse",
    "load_segmentation",
]

if TYPE_CHECKING:
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationInput:
    """What a segmentation model is asked; `n` objects, `p` points for each.

    Attributes:
        image: RGB and upright.
        points: n arrays of float32 [p, 2], x and y in pixels.
        labels: n arrays of int32 [p].
        boxes: float32 [n, 4], x1, y1, x2, y2 in pixels.
        mask_input: Logits of an earlier answer.
        image_embedding: Of an earlier answer.
        high_resolution_features: Of an earlier answer.
        reset_predictor: False lets the model go on from what it keeps.
        num_multimask_outputs: Candidates for an object with `multimask_output`.
        multimask_output: Several candidates for an object instead of one.
        return_image_embedding: Answer with the embedding.
        return_logits: Answer with the logits.
    """

    image: Image.Image
    points: list[Array] | None = None
    labels: list[Array] | None = None
    boxes: Array | None = None
    mask_input: Array | None = None
    image_embedding: Array | None = None
    high_resolution_features: list[Array] | None = None
    reset_predictor: bool = True
    num_multimask_outputs: int = 3
    multimask_output: bool = True
    return_image_embedding: bool = False
    return_logits: bool = False


class SegmentationModel(InferenceModel[SegmentationInput, SegmentationOutput]):
    """Base of segmentation models. Masks have the size of the input's image."""

    __roost_capability__: ClassVar[str] = "segmentation"


def load_segmentation(
    request: SegmentationParameters, uploads: list[bytes] | None, policy: MediaPolicy
) -> SegmentationInput:
    """The input a model gets for a request.

    Args:
        request: A `SegmentationRequest`, or `SegmentationParameters` when the image is uploaded.
        uploads: The raw images of a binary request; None for a JSON request.

    Raises:
        BadRequest: when there is not exactly one image, or an array's data is not base64.
        InvalidMedia, PayloadTooLarge: as `load_image`.
    """
    features = request.high_resolution_features
    return SegmentationInput(
        image=load_image(one_image("segmentation", getattr(request, "image", None), uploads), policy),
        points=_arrays(request.points, "float32"),
        labels=_arrays(request.labels, "int32"),
        boxes=_array(request.boxes, "float32").reshape(-1, 4) if request.boxes is not None else None,
        mask_input=to_array("mask_input", request.mask_input),
        image_embedding=to_array("image_embedding", request.image_embedding),
        high_resolution_features=[to_array("high_resolution_features", each) for each in features]
        if features is not None
        else None,
        reset_predictor=request.reset_predictor,
        num_multimask_outputs=request.num_multimask_outputs,
        multimask_output=request.multimask_output,
        return_image_embedding=request.return_image_embedding,
        return_logits=request.return_logits,
    )


def _arrays(lists: list[Any] | None, dtype: str) -> list[Array] | None:
    return [_array(each, dtype) for each in lists] if lists is not None else None


def _array(numbers: list[Any], dtype: str) -> Array:
    import numpy as np  # noqa: PLC0415  # the server knows the capabilities, too, and needs no arrays

    return np.array(numbers, dtype)


SEGMENTATION = Capability(
    name="segmentation",
    request_type=SegmentationRequest,
    upload_request_type=SegmentationParameters,
    response_type=SegmentationResponse,
    output_type=SegmentationOutput,
    interface_type=SegmentationInterface,
    model_base=SegmentationModel,
    default_timeout_s=60.0,
    upload_field="image",
    upload_many=False,
    example={
        "model": "u2netp/salient",
        "image": "https://example.com/cat.jpg",
        "boxes": [[40, 30, 300, 260]],
    },
    load_input=load_segmentation,
)
