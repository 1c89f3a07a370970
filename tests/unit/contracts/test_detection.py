from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from roost.contracts.detection import DetectionOutput, DetectionParameters, DetectionRequest
from roost.contracts.mask import CompressedRLE


def output(**changes: Any) -> DetectionOutput:
    return DetectionOutput(**{"boxes": [[1, 2, 3, 4]], "scores": [0.5], "classes": ["cat"], **changes})


def test_a_request_has_the_defaults_of_the_contract() -> None:
    request = DetectionRequest.model_validate_json('{"model": "m", "image": "aGk="}')

    assert (request.classes, request.box_threshold, request.text_threshold) == (None, 0.5, 0.5)


@pytest.mark.parametrize("field", ["boxThreshold", "box_threshold", "textThreshold", "text_threshold"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "high", None])
def test_thresholds_are_between_0_and_1(field: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        DetectionRequest.model_validate({"model": "m", "image": "aGk=", field: value})


@pytest.mark.parametrize(
    "body", [{"model": "m"}, {"image": "a"}, {"model": "", "image": "a"}, {"model": "m", "image": ""}]
)
def test_model_and_image_are_needed(body: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        DetectionRequest.model_validate(body)


def test_the_metadata_of_a_binary_request_has_no_image() -> None:
    assert "image" not in DetectionParameters.model_fields
    assert DetectionParameters(model="m", classes="cat").classes == "cat"


@pytest.mark.parametrize(
    "box",
    [
        [1.4, 1.6, 3.0, 4.4],
        (1, 2, 3, 4),
        np.array([1.4, 1.6, 3.0, 4.4]).tolist(),
        list(np.array([1.4, 1.6, 3.0, 4.4], dtype=np.float32)),
        list(np.array([1, 2, 3, 4])),
    ],
)
def test_boxes_are_rounded_to_whole_pixels(box: Any) -> None:
    assert output(boxes=[box]).boxes == [[1, 2, 3, 4]]


@pytest.mark.parametrize(
    "box",
    [
        [1, 2, 3],
        [1, 2, 3, 4, 5],
        [3, 2, 1, 4],
        [1, 4, 3, 2],
        [1, 2, math.inf, 4],
        [1, 2, math.nan, 4],
        "1234",
        None,
    ],
)
def test_what_is_no_box_is_refused(box: Any) -> None:
    with pytest.raises(ValidationError):
        output(boxes=[box])


@pytest.mark.parametrize(
    "changes",
    [
        {"boxes": []},
        {"scores": [0.5, 0.4]},
        {"classes": []},
        {"masks": []},
        {"masks": [CompressedRLE(size=[1, 1], counts="1")] * 2},
    ],
)
def test_lists_of_different_lengths_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="one entry an object"):
        output(**changes)


def test_a_score_that_is_not_a_number_is_null_on_the_wire_and_reads_back() -> None:
    body = output(scores=[math.nan]).to_json()

    assert json.loads(body, parse_constant=pytest.fail)["scores"] == [None]
    assert math.isnan(DetectionOutput.model_validate_json(body).scores[0])


def test_no_objects_is_an_answer() -> None:
    assert json.loads(DetectionOutput(boxes=[], scores=[], classes=[]).to_json()) == {
        "boxes": [],
        "scores": [],
        "classes": [],
        "masks": None,
    }
