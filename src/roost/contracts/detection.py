"""Wire models of the detection capability."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.contracts.fields import Box, ImageSource, ModelScore, Score, Threshold, check_corners
from roost.contracts.mask import CompressedRLE


class DetectionParameters(InferenceRequest):
    """A detection request but for its image; the `metadata` part of a binary request.

    Attributes:
        classes: What to look for with an open vocabulary; None means the model's own classes.
        box_threshold: The least score of a box.
        text_threshold: The least text score, for open-vocabulary models.
    """

    classes: list[str] | str | None = None
    box_threshold: Score = 0.5
    text_threshold: Score = 0.5


class DetectionRequest(DetectionParameters):
    """Asks for the objects in one image.

    Attributes:
        image: Base64, a data URI, a URL or a path.
    """

    image: ImageSource


class DetectionOutput(Wire):
    """The objects found, best first. All lists have one entry an object."""

    boxes: list[Box]
    scores: list[ModelScore]
    classes: list[str]
    masks: list[CompressedRLE] | None = None

    @model_validator(mode="after")
    def _check(self) -> DetectionOutput:
        lengths = {len(self.boxes), len(self.scores), len(self.classes)}
        if self.masks is not None:
            lengths.add(len(self.masks))
        if len(lengths) > 1:
            raise ValueError("boxes, scores, classes and masks must have one entry an object")
        for box in self.boxes:
            check_corners(box)
        return self


class DetectionResponse(InferenceResponse[DetectionOutput]):
    """The envelope around a `DetectionOutput`."""


class DetectionInterface(Wire):
    """How a detection model is called.

    Attributes:
        classes: `closed` when it has its own class set, `open` when the request names them.
        class_names: The class set of a closed vocabulary.
        thresholds: The thresholds of the request that the model reads.
        outputs: What each detection carries.
    """

    capability: Literal["detection"] = "detection"
    classes: Literal["open", "closed"]
    class_names: list[str] | None = None
    thresholds: list[Threshold] = Field(default_factory=list)
    outputs: list[Literal["box", "score", "class", "mask"]]
