"""Wire models of the segmentation capability."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from roost.contracts.array import NDArray
from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.contracts.fields import ImageSource, Point, Prompt, PromptBox, check_corners
from roost.contracts.mask import CompressedRLE

Label = Annotated[int, Field(ge=-1, le=3)]
"""1 for a point on the object, 0 beside it; others by the model's own convention."""


class SegmentationParameters(InferenceRequest):
    """A segmentation request but for its image; the `metadata` part of a binary request.

    `n` is the number of objects that are asked for, `p` the number of points for each.

    Attributes:
        points: [n][p][2], in pixels.
        labels: [n][p]; every point needs one.
        boxes: [n][4], `x1, y1, x2, y2` in pixels.
        mask_input: Logits of an earlier answer, to be refined.
        image_embedding: Of an earlier answer, so that the image need not be encoded again.
        high_resolution_features: Likewise.
        reset_predictor: False lets the model go on from what it keeps of the image before.
        num_multimask_outputs: How many masks an object gets with `multimask_output`.
        multimask_output: Several candidates for each object instead of one.
        return_image_embedding: Answer with the embedding, too.
        return_logits: Answer with the logits, too.
    """

    points: list[list[Point]] | None = None
    labels: list[list[Label]] | None = None
    boxes: list[PromptBox] | None = None
    mask_input: NDArray | None = None
    image_embedding: NDArray | None = None
    high_resolution_features: list[NDArray] | None = None
    reset_predictor: bool = True
    num_multimask_outputs: int = Field(default=3, ge=1, le=16)
    multimask_output: bool = True
    return_image_embedding: bool = False
    return_logits: bool = False

    @model_validator(mode="after")
    def _check(self) -> SegmentationParameters:
        if (self.points is None) != (self.labels is None):
            raise ValueError("points and labels must be given together")
        if self.points is not None and self.labels is not None:
            if [len(each) for each in self.points] != [len(each) for each in self.labels]:
                raise ValueError("labels must have one entry a point")
            if self.boxes is not None and len(self.boxes) != len(self.points):
                raise ValueError(
                    f"points are given for {len(self.points)} objects, boxes for {len(self.boxes)}"
                )
        for box in self.boxes or ():
            check_corners(box)
        return self


class SegmentationRequest(SegmentationParameters):
    """Asks for the masks of objects in one image.

    Attributes:
        image: Base64, a data URI, a URL or a path.
    """

    image: ImageSource


class SegmentationOutput(Wire):
    """The masks found; `k` candidates for each of the `n` objects.

    Attributes:
        masks: [n][k], each of the image's size.
        scores: [n, k]; None when there are no masks.
        image_embedding: When it was asked for.
        high_resolution_features: When the embedding was asked for.
        mask_logits: When they were asked for.
    """

    masks: list[list[CompressedRLE]]
    scores: NDArray | None
    image_embedding: NDArray | None = None
    high_resolution_features: list[NDArray] | None = None
    mask_logits: NDArray | None = None

    @model_validator(mode="after")
    def _check(self) -> SegmentationOutput:
        counts = {len(each) for each in self.masks}
        if len(counts) > 1:
            raise ValueError("masks must have the same number of candidates for each object")
        shape = [len(self.masks), *counts] if self.masks else None
        found = self.scores.shape if self.scores is not None else None
        if found != shape:
            raise ValueError(f"scores have the shape {found}, masks have {shape}")
        return self


class SegmentationResponse(InferenceResponse[SegmentationOutput]):
    """The envelope around a `SegmentationOutput`."""


class SegmentationInterface(Wire):
    """How a segmentation model is called.

    Attributes:
        prompts: What a request may carry to name the objects; empty for a model that needs none.
        multimask: Whether it can give several candidates.
        embeddings: Whether it gives the image's embedding and takes it back.
        outputs: What an answer carries.
    """

    capability: Literal["segmentation"] = "segmentation"
    prompts: list[Prompt] = Field(default_factory=list)
    multimask: bool = False
    embeddings: bool = False
    outputs: list[Literal["mask", "score", "logits"]]
