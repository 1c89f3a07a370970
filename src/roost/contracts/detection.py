"""Wire models of the detection capability."""

from __future__ import annotations

import math
from numbers import Real
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.contracts.mask import CompressedRLE

Score = Annotated[float, Field(ge=0.0, le=1.0)]


def _whole_pixels(value: Any) -> Any:
    # The published clients read boxes as integers; models give floats, NumPy's too.
    return [_whole(number) for number in value] if isinstance(value, (list, tuple)) else value


def _whole(number: Any) -> Any:
    if not isinstance(number, Real):
        return number
    if not math.isfinite(number):
        raise ValueError("a box must have finite numbers")
    return round(float(number))


def _nan_of_null(value: Any) -> Any:
    # JSON has no NaN: a score that is not a number is written, and read back, as null.
    return math.nan if value is None else value


Box = Annotated[list[int], BeforeValidator(_whole_pixels), Field(min_length=4, max_length=4)]
"""`[x1, y1, x2, y2]` in pixels of the image, rounded, with x2 ≥ x1 and y2 ≥ y1."""

ModelScore = Annotated[float, BeforeValidator(_nan_of_null)]
"""A score as the model gave it; null on the wire when it is not finite."""


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
        image: Base64 (also a data URI) of an encoded image, an http(s) URL, or a path inside a
            configured media root.
    """

    image: str = Field(min_length=1)


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
        for x1, y1, x2, y2 in self.boxes:
            if x2 < x1 or y2 < y1:
                raise ValueError(f"box {[x1, y1, x2, y2]} must have x2 >= x1 and y2 >= y1")
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
    thresholds: list[Literal["box", "text"]] = Field(default_factory=list)
    outputs: list[Literal["box", "score", "class", "mask"]]
