"""Detection: the objects in one image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from PIL import Image

from roost.capabilities.capability import Capability
from roost.capabilities.media import load_image
from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy
from roost.capabilities.sources import listed, one_image
from roost.contracts.detection import (
    DetectionInterface,
    DetectionOutput,
    DetectionParameters,
    DetectionRequest,
    DetectionResponse,
)

__all__ = [
    "DETECTION",
    "DetectionInput",
    "DetectionInterface",
    "DetectionModel",
    "DetectionOutput",
    "DetectionParameters",
    "DetectionRequest",
    "DetectionResponse",
    "load_detection",
]


@dataclass(frozen=True, slots=True)
class DetectionInput:
    """What a detection model is asked.

    Attributes:
        image: RGB and upright.
        classes: What to look for; None means the model's own classes.
        box_threshold: The least score of a box, 0 to 1.
        text_threshold: The least text score, 0 to 1; for open vocabularies.
    """

    image: Image.Image
    classes: list[str] | None = None
    box_threshold: float = 0.5
    text_threshold: float = 0.5


class DetectionModel(InferenceModel[DetectionInput, DetectionOutput]):
    """Base of detection models. Boxes are `[x1, y1, x2, y2]` in pixels of the input, best first."""

    __roost_capability__: ClassVar[str] = "detection"


def load_detection(
    request: DetectionParameters, uploads: list[bytes] | None, policy: MediaPolicy
) -> DetectionInput:
    """The input a model gets for a request.

    Args:
        request: A `DetectionRequest`, or `DetectionParameters` when the image is uploaded.
        uploads: The raw images of a binary request; None for a JSON request.

    Raises:
        BadRequest: when there is not exactly one image.
        InvalidMedia, PayloadTooLarge: as `load_image`.
    """
    return DetectionInput(
        image=load_image(one_image("detection", getattr(request, "image", None), uploads), policy),
        classes=None if request.classes is None else listed(request.classes),
        box_threshold=request.box_threshold,
        text_threshold=request.text_threshold,
    )


DETECTION = Capability(
    name="detection",
    request_type=DetectionRequest,
    upload_request_type=DetectionParameters,
    response_type=DetectionResponse,
    output_type=DetectionOutput,
    interface_type=DetectionInterface,
    model_base=DetectionModel,
    default_timeout_s=60.0,
    upload_field="image",
    upload_many=False,
    example={"model": "ssd-mobilenet-v2/coco", "image": "https://example.com/cat.jpg", "boxThreshold": 0.5},
    load_input=load_detection,
)
