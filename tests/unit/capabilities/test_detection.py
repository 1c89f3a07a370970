from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from PIL import Image

from roost.capabilities import DetectionInput, DetectionModel, DetectionOutput, MediaPolicy
from roost.capabilities.detection import DetectionParameters, DetectionRequest, load_detection
from roost.capabilities.table import CAPABILITIES, get_capability
from roost.errors import BadRequest, InvalidMedia, NotFound
from roost.keys import DeploymentKey
from roost.serve import CAPABILITY_ATTRIBUTE


def png(width: int = 6, height: int = 4) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height)).save(buffer, "PNG")
    return buffer.getvalue()


class WidthModel(DetectionModel):
    """Reports one box as large as the image; refuses images one pixel wide."""

    def load_model(self) -> None:
        """Nothing to load."""

    def predict(self, input: DetectionInput) -> DetectionOutput:
        if input.image.width == 1:
            raise ValueError("too narrow")
        return DetectionOutput(boxes=[[0, 0, *input.image.size]], scores=[1.0], classes=["image"])


def test_the_input_of_a_json_request() -> None:
    request = DetectionRequest(
        model="m",
        image=base64.b64encode(png()).decode(),
        classes=["cat"],
        box_threshold=0.25,
        text_threshold=0.75,
    )

    loaded = load_detection(request, None, MediaPolicy())

    assert (loaded.image.size, loaded.classes, loaded.box_threshold, loaded.text_threshold) == (
        (6, 4),
        ["cat"],
        0.25,
        0.75,
    )


def test_the_input_of_a_binary_request_is_the_upload() -> None:
    loaded = load_detection(DetectionParameters(model="m"), [png(9, 2)], MediaPolicy())

    assert (loaded.image.size, loaded.classes) == ((9, 2), None)


def test_one_class_may_come_as_a_string() -> None:
    assert load_detection(DetectionParameters(model="m", classes="cat"), [png()], MediaPolicy()).classes == [
        "cat"
    ]


@pytest.mark.parametrize(("uploads", "count"), [([], 0), ([b"a", b"b"], 2), (None, 0)])
def test_another_number_of_images_than_one_is_refused(uploads: list[bytes] | None, count: int) -> None:
    with pytest.raises(BadRequest, match=f"exactly one image, got {count}"):
        load_detection(DetectionParameters(model="m"), uploads, MediaPolicy())


def test_a_broken_upload_is_refused() -> None:
    with pytest.raises(InvalidMedia):
        load_detection(DetectionParameters(model="m"), [b"broken"], MediaPolicy())


def test_in_a_batch_one_bad_item_fails_alone() -> None:
    model = WidthModel(DeploymentKey("a", "b", "c"))
    inputs = [DetectionInput(Image.new("RGB", (width, 3))) for width in (5, 1, 7)]

    first, second, third = model.predict_batch(inputs)

    assert first == DetectionOutput(boxes=[[0, 0, 5, 3]], scores=[1.0], classes=["image"])
    assert isinstance(second, ValueError)
    assert third == DetectionOutput(boxes=[[0, 0, 7, 3]], scores=[1.0], classes=["image"])


def test_what_an_author_may_leave_out() -> None:
    model = WidthModel(DeploymentKey("a", "b", "c"))

    model.unload()

    assert (model.key, model.weights, model.config) == (DeploymentKey("a", "b", "c"), None, {})
    assert (model.interface, model.warmup_inputs()) == (None, [])


def test_an_unfinished_model_cannot_be_made() -> None:
    unfinished: Any = DetectionModel

    with pytest.raises(TypeError, match="abstract"):
        unfinished(DeploymentKey("a", "b", "c"))


def test_the_row_of_detection_follows_the_contract() -> None:
    row = get_capability("detection")

    assert (row.name, row.default_timeout_s, row.upload_field, row.upload_many) == (
        "detection",
        60.0,
        "image",
        False,
    )
    assert getattr(row.model_base, CAPABILITY_ATTRIBUTE) == "detection"
    assert row.load_input(DetectionParameters(model="m"), [png()], MediaPolicy()).image.size == (6, 4)


def test_every_row_is_named_as_its_model_base_says() -> None:
    assert {name: getattr(row.model_base, CAPABILITY_ATTRIBUTE) for name, row in CAPABILITIES.items()} == {
        name: name for name in CAPABILITIES
    }


@pytest.mark.parametrize("name", ["", "detections", "Detection", "x" * 500])
def test_an_unknown_capability_lists_the_known_ones(name: str) -> None:
    with pytest.raises(NotFound) as caught:
        get_capability(name)
    assert caught.value.hint == "Known capabilities: detection, embedding, ner, segmentation, tracking, vlm."
    assert len(caught.value.message) < 120
