"""Tracking: the objects in the frames of a video."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from PIL import Image

from roost.capabilities.capability import Capability
from roost.capabilities.frames import load_frames
from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy
from roost.capabilities.sources import listed
from roost.contracts.tracking import (
    TrackedFrame,
    TrackedObject,
    TrackingBox,
    TrackingInterface,
    TrackingInterval,
    TrackingKeyframe,
    TrackingOutput,
    TrackingParameters,
    TrackingPoint,
    TrackingPrompts,
    TrackingRequest,
    TrackingResponse,
)
from roost.errors import BadRequest

__all__ = [
    "TRACKING",
    "TrackedFrame",
    "TrackedObject",
    "TrackingBox",
    "TrackingInput",
    "TrackingInterface",
    "TrackingInterval",
    "TrackingKeyframe",
    "TrackingModel",
    "TrackingOutput",
    "TrackingParameters",
    "TrackingPoint",
    "TrackingPrompts",
    "TrackingRequest",
    "TrackingResponse",
    "load_tracking",
]


@dataclass(frozen=True, slots=True)
class TrackingInput:
    """What a tracking model is asked.

    Attributes:
        frames: RGB, in their order.
        objects: For each prompted object its track id and keyframe; empty without prompts.
        frame_indexes: The frames with prompts, as the request gives them.
        propagate: Whether to go on beyond the prompted frames; None is as the model does.
        interval: The frames to track in; None is all.
        classes: What to look for without prompts; None means the model's own classes.
        box_threshold: The least score of an object without prompts; None is the model's own.
    """

    frames: list[Image.Image]
    objects: list[tuple[int, TrackingKeyframe]] = field(default_factory=list)
    frame_indexes: list[int] = field(default_factory=list)
    propagate: bool | None = None
    interval: TrackingInterval | None = None
    classes: list[str] | None = None
    box_threshold: float | None = None


class TrackingModel(InferenceModel[TrackingInput, TrackingOutput]):
    """Base of tracking models. Boxes are `[x1, y1, x2, y2]` in pixels of the frame."""

    __roost_capability__: ClassVar[str] = "tracking"


def load_tracking(
    request: TrackingParameters, uploads: list[bytes] | None, policy: MediaPolicy
) -> TrackingInput:
    """The input a model gets for a request.

    Args:
        request: A `TrackingRequest`, or `TrackingParameters` when the video is uploaded.
        uploads: One video file, or one image a frame; None for a JSON request.

    Raises:
        BadRequest: when a prompt or the interval names a frame that is not there.
        InvalidMedia, PayloadTooLarge, Unavailable: as `load_frames`.
    """
    frames = load_frames(_sources(request, uploads), policy)
    keyframes = request.keyframes or []
    for index in (*request.frame_indexes, *(each.frame_index for each in keyframes), *_ends(request)):
        if index >= len(frames):
            raise BadRequest(
                f"frame index {index} is not there: the video has {len(frames)} frames.",
                hint="Indexes count from 0, among the frames of the request.",
            )
    return TrackingInput(
        frames=frames,
        objects=list(zip(request.objects_ids, keyframes, strict=False)),
        frame_indexes=request.frame_indexes,
        propagate=request.propagate,
        interval=request.interval,
        classes=None if request.classes is None else listed(request.classes),
        box_threshold=request.box_threshold,
    )


def _sources(request: TrackingParameters, uploads: list[bytes] | None) -> list[str] | list[bytes]:
    if uploads is not None:
        return uploads
    if not isinstance(request, TrackingRequest):
        raise BadRequest("tracking takes a video, got none.", hint="Set the field 'video'.")
    return listed(request.video)


def _ends(request: TrackingParameters) -> tuple[int, ...]:
    interval = request.interval
    return () if interval is None else (interval.start_frame, interval.end_frame)


TRACKING = Capability(
    name="tracking",
    request_type=TrackingRequest,
    upload_request_type=TrackingParameters,
    response_type=TrackingResponse,
    output_type=TrackingOutput,
    interface_type=TrackingInterface,
    model_base=TrackingModel,
    default_timeout_s=600.0,
    upload_field="frames",
    upload_many=True,
    example={"model": "bytetrack/coco", "video": "https://example.com/street.mp4", "boxThreshold": 0.5},
    load_input=load_tracking,
)
