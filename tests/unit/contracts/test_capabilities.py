"""The rules of the inference requests and outputs, but for detection's."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from roost.contracts.base import Wire
from roost.contracts.embedding import EmbeddingOutput, EmbeddingRequest
from roost.contracts.ner import NEREntity
from roost.contracts.segmentation import SegmentationOutput, SegmentationParameters
from roost.contracts.tracking import TrackedFrame, TrackedObject, TrackingOutput, TrackingParameters
from roost.contracts.vlm import ImageCount, VLMParameters

MASK = {"size": [2, 3], "counts": "141"}
POINTS = {"frameIndex": 0, "prompts": {"points": [{"x": 1, "y": 2, "label": 1}]}}
BOX = {"frameIndex": 3, "prompts": {"box": {"x": 1, "y": 2, "width": 3, "height": 4}}}


def parse(kind: type[Wire], **fields: Any) -> Any:
    return kind.model_validate(({"model": "m"} if "model" in kind.model_fields else {}) | fields)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (SegmentationParameters, {"points": [[[1, 2]]]}, "points and labels must be given together"),
        (SegmentationParameters, {"labels": [[1]]}, "points and labels must be given together"),
        (SegmentationParameters, {"points": [[[1, 2]]], "labels": [[1, 0]]}, "one entry a point"),
        (SegmentationParameters, {"points": [[[1]]], "labels": [[1]]}, "at least 2 items"),
        (SegmentationParameters, {"points": [[[1, 2, 3]]], "labels": [[1]]}, "at most 2 items"),
        (SegmentationParameters, {"points": [[[1, "NaN"]]], "labels": [[1]]}, "finite number"),
        (SegmentationParameters, {"boxes": [[1, 2, 3]]}, "at least 4 items"),
        (SegmentationParameters, {"boxes": [[3, 2, 1, 4]]}, "must have x2 >= x1 and y2 >= y1"),
        (
            SegmentationParameters,
            {"points": [[[1, 2]]], "labels": [[1]], "boxes": [[0, 0, 1, 1]] * 2},
            "points are given for 1 objects, boxes for 2",
        ),
        (SegmentationParameters, {"numMultimaskOutputs": 0}, "greater than or equal to 1"),
        (TrackingParameters, {"objectsIds": [1, 1]}, "must not name an object twice"),
        (TrackingParameters, {"keyframes": [POINTS]}, "one keyframe an object id, not 1 for 0"),
        (TrackingParameters, {"objectsIds": [1, 2], "keyframes": [POINTS]}, "not 1 for 2"),
        (
            TrackingParameters,
            {"objectsIds": [1], "keyframes": [{"frameIndex": 0, "prompts": {}}]},
            "points, a box or both, or else a mask",
        ),
        (
            TrackingParameters,
            {"objectsIds": [1], "keyframes": [{**BOX, "prompts": {**BOX["prompts"], "mask": MASK}}]},  # type: ignore[dict-item]
            "points, a box or both, or else a mask",
        ),
        (TrackingParameters, {"interval": {"startFrame": 3, "endFrame": 2}}, "from 3 must not end at 2"),
        (TrackingParameters, {"boxThreshold": 1.5}, "less than or equal to 1"),
        (VLMParameters, {"prompt": []}, "at least 1 item"),
        (VLMParameters, {"prompt": [{"role": "robot", "content": "x"}]}, "'system', 'user' or 'assistant'"),
        (VLMParameters, {"prompt": "x", "maxNewTokens": 0}, "greater than or equal to 1"),
        (VLMParameters, {"prompt": "x", "temperature": -1}, "greater than or equal to 0"),
        (VLMParameters, {"prompt": "x", "temperature": "NaN"}, "finite number"),
        (EmbeddingRequest, {}, "exactly one of image and text"),
        (EmbeddingRequest, {"image": "aGk=", "text": "hi"}, "exactly one of image and text"),
        (EmbeddingRequest, {"text": []}, "at least 1 item"),
        (EmbeddingRequest, {"image": [""]}, "at least 1 character"),
    ],
)
def test_a_bad_request_is_refused(kind: type[Wire], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parse(kind, **fields)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (SegmentationOutput, {"masks": [[MASK], []], "scores": None}, "same number of candidates"),
        (SegmentationOutput, {"masks": [[MASK]], "scores": None}, "scores have the shape None"),
        (
            SegmentationOutput,
            {"masks": [[MASK]], "scores": {"shape": [1, 2], "data": "AAAAAAAAAAA="}},
            r"scores have the shape \[1, 2\], masks have \[1, 1\]",
        ),
        (TrackedObject, {"trackId": 1}, "must have a box or a mask"),
        (TrackedObject, {"trackId": 1, "box": [3, 0, 1, 1]}, "must have x2 >= x1"),
        (TrackedFrame, {"frameIndex": -1}, "greater than or equal to 0"),
        (
            TrackedFrame,
            {"frameIndex": 2, "objects": [{"trackId": 1, "mask": MASK}] * 2},
            "a track is twice in frame 2",
        ),
        (TrackingOutput, {"frames": [{"frameIndex": 2}] * 2}, "a frame is there twice"),
        (
            NEREntity,
            {"text": "a", "label": "X", "start": 3, "end": 2, "score": 1},
            "from 3 must not end at 2",
        ),
        (EmbeddingOutput, {"embeddings": {"shape": [1], "data": "AACAPw=="}, "dim": 1}, r"not \[n, 1\]"),
        (EmbeddingOutput, {"embeddings": {"shape": [1, 1], "data": "AACAPw=="}, "dim": 2}, r"not \[n, 2\]"),
        (ImageCount, {"min": 2, "max": 1}, "max=1 must be at least min=2"),
    ],
)
def test_what_a_model_must_not_answer(kind: type[Wire], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        parse(kind, **fields)


def test_the_class_of_an_object_is_called_class_on_the_wire() -> None:
    tracked = TrackedObject(track_id=1, box=[1, 2, 3, 4], class_name="cat")
    assert (
        tracked.to_json() == b'{"trackId":1,"box":[1.0,2.0,3.0,4.0],"score":null,"class":"cat","mask":null}'
    )
    assert TrackedObject.model_validate_json(tracked.to_json()) == tracked


def test_an_answer_without_masks() -> None:
    assert SegmentationOutput(masks=[], scores=None).masks == []


def test_prompts_by_places_and_by_a_mask() -> None:
    request = parse(
        TrackingParameters,
        objectsIds=[4, 5],
        keyframes=[POINTS, {"frameIndex": 3, "prompts": {"mask": MASK}}],
    )
    assert request.keyframes[0].prompts.points[0].x == 1
    assert request.keyframes[1].prompts.mask.size == [2, 3]
