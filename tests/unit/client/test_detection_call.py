"""How a picture reaches the server: as a string in JSON, or as bytes in a multipart form."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from PIL import Image

from roost.client import Client
from roost.client.images import ImageLike
from roost.errors import InvalidMedia, ValidationFailed

ANSWER = {
    "id": "r1",
    "status": "SUCCESS",
    "timestamp": "2026-11-30T12:00:00Z",
    "processingTime": 0.1,
    "metadata": {},
    "data": {"boxes": [[1, 2, 3, 4]], "scores": [0.5], "classes": ["cat"]},
}


def sent(image: ImageLike) -> httpx2.Request:
    """The request that `detection` sends for `image`."""
    requests: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        request.read()
        requests.append(request)
        return httpx2.Response(200, json=ANSWER)

    with Client("http://roost.test", transport=httpx2.MockTransport(answer)) as client:
        assert client.detection("m", image).data.boxes == [[1, 2, 3, 4]]
    return requests[0]


@pytest.mark.parametrize("image", ["http://host/cat.png", "data:image/png;base64,AAAA", "iVBORw0KGgo="])
def test_a_string_for_the_server_goes_as_json(image: str) -> None:
    request = sent(image)
    assert request.url.path == "/v1/inference/detection"
    assert json.loads(request.content)["image"] == image


def test_bytes_go_as_they_are() -> None:
    request = sent(b"raw-bytes")
    assert request.url.path == "/v1/inference/detection/binary"
    assert b"raw-bytes" in request.content
    assert request.content.index(b'name="metadata"') < request.content.index(b'name="image"')


def test_a_path_and_the_name_of_a_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(b"file-bytes")
    assert b"file-bytes" in sent(path).content
    assert b"file-bytes" in sent(str(path)).content


def test_a_pillow_image_is_encoded() -> None:
    assert b"\x89PNG" in sent(Image.new("RGB", (4, 4))).content


def test_a_path_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidMedia, match=r"nothing\.png"):
        sent(tmp_path / "nothing.png")


def test_another_type_is_named() -> None:
    with pytest.raises(InvalidMedia, match="int is not an image"):
        sent(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["nothing.jpg", "a/nothing.PNG"])
def test_a_picture_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(InvalidMedia, match="does not exist"):
        sent(name)


def test_a_folder_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(InvalidMedia, match="is a folder"):
        sent(str(tmp_path))


@pytest.mark.parametrize("threshold", [1.5, -1.0])
def test_an_argument_that_breaks_a_rule_is_named(threshold: float) -> None:
    with Client("http://roost.test") as client, pytest.raises(ValidationFailed, match=r"box_?[tT]hreshold"):
        client.detection("m", b"x", box_threshold=threshold)
