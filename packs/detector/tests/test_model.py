from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from roost.capabilities import DetectionInput, MediaPolicy, load_image
from roost.errors import BadRequest, InvalidWeights
from roost.keys import DeploymentKey
from roost.serve import servable_kind
from roost_detector import SsdMobileNetV2, weights_dir

KEY = DeploymentKey("coco", "ssd-mobilenet-v2", "imported")


def picture(name: str) -> Image.Image:
    # Only the data folder of scikit-image is installed; the package itself cannot be imported.
    spec = find_spec("skimage")
    assert spec is not None, "run: uv pip install --no-deps scikit-image"
    assert spec.submodule_search_locations is not None
    path = Path(spec.submodule_search_locations[0]) / "data" / name
    return load_image(path.read_bytes(), MediaPolicy())


@pytest.fixture(scope="module")
def model() -> Iterator[SsdMobileNetV2]:
    model = SsdMobileNetV2(KEY)
    model.weights = weights_dir()
    model.load_model()
    yield model
    model.unload()


@pytest.mark.parametrize(
    ("name", "expected", "score", "box"),
    [
        ("chelsea.png", "cat", 0.91, [9, 0, 408, 297]),
        ("coffee.png", "cup", 0.95, [173, 13, 412, 240]),
        ("motorcycle_left.png", "motorcycle", 0.99, [103, 65, 680, 445]),
        ("astronaut.png", "person", 0.81, [11, 10, 370, 510]),
    ],
)
def test_the_best_object_of_a_picture(
    model: SsdMobileNetV2, name: str, expected: str, score: float, box: list[int]
) -> None:
    found = model.predict(DetectionInput(image=picture(name)))

    assert found.classes[0] == expected
    assert found.scores[0] == pytest.approx(score, abs=0.01)
    assert found.boxes[0] == pytest.approx(box, abs=3)
    assert found.scores == sorted(found.scores, reverse=True)


def test_the_box_threshold_is_the_least_score(model: SsdMobileNetV2) -> None:
    image = picture("coffee.png")

    assert model.predict(DetectionInput(image, box_threshold=0.9)).classes == ["cup"]
    assert model.predict(DetectionInput(image, box_threshold=0.8)).classes == ["cup", "bowl"]
    assert model.predict(DetectionInput(image, box_threshold=1.0)).classes == []
    everything = model.predict(DetectionInput(image, box_threshold=0.0))
    assert len(everything.boxes) > 3
    assert min(everything.scores) >= 0.01


def test_boxes_stay_inside_the_image(model: SsdMobileNetV2) -> None:
    image = picture("coffee.png")

    for x1, y1, x2, y2 in model.predict(DetectionInput(image, box_threshold=0.0)).boxes:
        assert 0 <= x1 <= x2 <= 600
        assert 0 <= y1 <= y2 <= 400


def test_named_classes_are_the_only_ones_reported(model: SsdMobileNetV2) -> None:
    found = model.predict(DetectionInput(picture("coffee.png"), classes=["bowl", "cat"]))

    assert found.classes == ["bowl"]


def test_a_class_outside_the_vocabulary_is_refused(model: SsdMobileNetV2) -> None:
    with pytest.raises(BadRequest, match=r"class 'unicorn' is not one of the 80 classes"):
        model.predict(DetectionInput(picture("coffee.png"), classes=["cup", "unicorn"]))


def test_a_batch_answers_as_single_requests_do_and_one_bad_item_fails_alone(model: SsdMobileNetV2) -> None:
    cat = DetectionInput(picture("chelsea.png"))
    bad = DetectionInput(picture("chelsea.png"), classes=["unicorn"])
    cup = DetectionInput(picture("coffee.png"), box_threshold=0.9)

    first, second, third = model.predict_batch([cat, bad, cup])

    assert first == model.predict(cat)
    assert isinstance(second, BadRequest)
    assert third == model.predict(cup)
    assert model.predict_batch([]) == []


def test_a_blank_image_and_a_single_pixel_have_no_objects(model: SsdMobileNetV2) -> None:
    assert model.predict(model.warmup_inputs()[0]).boxes == []
    assert model.predict(DetectionInput(Image.new("RGB", (1, 1)))).boxes == []


def test_the_interface_tells_the_closed_vocabulary(model: SsdMobileNetV2) -> None:
    interface = model.interface

    assert interface.classes == "closed"
    assert interface.class_names is not None
    assert len(interface.class_names) == 80
    assert interface.thresholds == ["box"]
    assert interface.outputs == ["box", "score", "class"]


def test_weights_that_lack_a_file_are_named(tmp_path: Path) -> None:
    model = SsdMobileNetV2(KEY)
    model.weights = tmp_path

    with pytest.raises(InvalidWeights, match=r"frozen_inference_graph\.pb' is missing"):
        model.load_model()


def test_weights_that_opencv_cannot_read_are_named(tmp_path: Path) -> None:
    for file in weights_dir().iterdir():
        (tmp_path / file.name).write_bytes(b"not a graph")
    model = SsdMobileNetV2(KEY)
    model.weights = tmp_path

    with pytest.raises(InvalidWeights, match="cannot be read by OpenCV"):
        model.load_model()


def test_without_weights_the_package_is_read() -> None:
    model = SsdMobileNetV2(KEY)

    model.load_model()

    assert model.predict(DetectionInput(picture("chelsea.png"))).classes == ["cat"]


def test_it_is_found_by_its_entry_point() -> None:
    (entry,) = entry_points(group="roost.models", name="ssd-mobilenet-v2")

    assert entry.load() is SsdMobileNetV2
    assert servable_kind(SsdMobileNetV2) == ("inference_model", "detection")
