"""Wire models of the tracking capability."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.contracts.fields import (
    MAX_MEDIA,
    ImageSource,
    ModelScore,
    Pixel,
    Prompt,
    Score,
    Threshold,
    check_corners,
)
from roost.contracts.mask import CompressedRLE

FrameIndex = Annotated[int, Field(ge=0)]
"""Of a frame, from 0, among those that the request brings."""


class TrackingPoint(Wire):
    """A point on (label 1) or beside (0) the object."""

    x: Pixel
    y: Pixel
    label: Literal[0, 1]


class TrackingBox(Wire):
    """A box around the object, in pixels, by its upper left corner."""

    x: Pixel
    y: Pixel
    width: float = Field(ge=0, allow_inf_nan=False)
    height: float = Field(ge=0, allow_inf_nan=False)


class TrackingPrompts(Wire):
    """Names one object: by points, a box or both, or by a mask."""

    points: list[TrackingPoint] | None = None
    box: TrackingBox | None = None
    mask: CompressedRLE | None = None

    @model_validator(mode="after")
    def _check(self) -> TrackingPrompts:
        has_places = bool(self.points) or self.box is not None
        if has_places == (self.mask is not None):
            raise ValueError("prompts must have points, a box or both, or else a mask")
        return self


class TrackingKeyframe(Wire):
    """Where one object is in one frame."""

    frame_index: FrameIndex
    prompts: TrackingPrompts


class TrackingInterval(Wire):
    """The frames to track in, both ends included."""

    start_frame: FrameIndex
    end_frame: FrameIndex
    direction: Literal["forward", "backward"] = "forward"

    @model_validator(mode="after")
    def _check(self) -> TrackingInterval:
        if self.end_frame < self.start_frame:
            raise ValueError(f"the interval from {self.start_frame} must not end at {self.end_frame}")
        return self


class TrackingParameters(InferenceRequest):
    """A tracking request but for its video; the `metadata` part of a binary request.

    With prompts, it names the objects: an id and a keyframe for each. Without, the model finds them.

    Attributes:
        objects_ids: The track ids that the answer uses for the prompted objects.
        frame_indexes: The frames with prompts, for models that take them apart from the keyframes.
        keyframes: One for each object, in the order of `objects_ids`.
        propagate: Whether to go on beyond the prompted frames; None is as the model does.
        interval: None is all frames.
        classes: What to look for without prompts; None is the model's own classes.
        box_threshold: The least score of an object without prompts; None is the model's own.
    """

    objects_ids: list[int] = Field(default_factory=list)
    frame_indexes: list[FrameIndex] = Field(default_factory=list)
    keyframes: list[TrackingKeyframe] | None = None
    propagate: bool | None = None
    interval: TrackingInterval | None = None
    classes: list[str] | str | None = None
    box_threshold: Score | None = None

    @model_validator(mode="after")
    def _check(self) -> TrackingParameters:
        if len(set(self.objects_ids)) != len(self.objects_ids):
            raise ValueError("objects_ids must not name an object twice")
        if self.keyframes is not None and len(self.keyframes) != len(self.objects_ids):
            raise ValueError(
                f"there must be one keyframe an object id, "
                f"not {len(self.keyframes)} for {len(self.objects_ids)}"
            )
        return self


class TrackingRequest(TrackingParameters):
    """Asks for the objects in the frames of a video.

    Attributes:
        video: A video file, or the frames as images: base64, a data URI, a URL or a path (each).
    """

    video: Annotated[list[ImageSource], Field(min_length=1, max_length=MAX_MEDIA)] | ImageSource


class TrackedObject(Wire):
    """An object in one frame; it has a box or a mask.

    Attributes:
        track_id: The same in all frames: the caller's for prompted objects, else the model's.
        box: `[x1, y1, x2, y2]` in pixels of the frame.
        class_name: `class` on the wire.
    """

    track_id: int
    box: Annotated[list[Pixel], Field(min_length=4, max_length=4)] | None = None
    score: ModelScore | None = None
    class_name: str | None = Field(default=None, alias="class")
    mask: CompressedRLE | None = None

    @model_validator(mode="after")
    def _check(self) -> TrackedObject:
        if self.box is None and self.mask is None:
            raise ValueError("a tracked object must have a box or a mask")
        if self.box is not None:
            check_corners(self.box)
        return self


class TrackedFrame(Wire):
    """The objects in one frame, each track once."""

    frame_index: FrameIndex
    objects: list[TrackedObject] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> TrackedFrame:
        if len({each.track_id for each in self.objects}) != len(self.objects):
            raise ValueError(f"a track is twice in frame {self.frame_index}")
        return self


class TrackingOutput(Wire):
    """The frames in the order the model saw them, each once; one without objects may be left out."""

    frames: list[TrackedFrame]

    @model_validator(mode="after")
    def _check(self) -> TrackingOutput:
        if len({each.frame_index for each in self.frames}) != len(self.frames):
            raise ValueError("a frame is there twice")
        return self


class TrackingResponse(InferenceResponse[TrackingOutput]):
    """The envelope around a `TrackingOutput`."""


class TrackingInterface(Wire):
    """How a tracking model is called.

    Attributes:
        prompts: What a keyframe may carry; empty for a model that takes none.
        prompt_free: Whether it finds objects by itself.
        classes: `none` when it knows no classes, `open` when the request names them, `closed` when it
            has its own.
        class_names: Those of a closed vocabulary.
        thresholds: The thresholds of the request that it reads.
        interval: Whether it heeds the interval of a request.
        outputs: What each object carries.
    """

    capability: Literal["tracking"] = "tracking"
    prompts: list[Prompt] = Field(default_factory=list)
    prompt_free: bool = False
    classes: Literal["none", "open", "closed"] = "none"
    class_names: list[str] | None = None
    thresholds: list[Threshold] = Field(default_factory=list)
    interval: bool = False
    outputs: list[Literal["mask", "box", "score", "class"]]
