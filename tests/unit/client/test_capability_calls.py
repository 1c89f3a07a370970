"""What the client sends for each capability, but for detection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import numpy as np
import pytest

from roost.client import AsyncClient, Client
from roost.contracts.tracking import TrackingBox, TrackingKeyframe, TrackingPrompts
from roost.contracts.vlm import Message
from roost.errors import RoostError, ValidationFailed

URL = "http://host/cat.png"
BOX = TrackingKeyframe(frame_index=0, prompts=TrackingPrompts(box=TrackingBox(x=1, y=2, width=3, height=4)))


def sent(ask: Callable[[Client], Any]) -> httpx2.Request:
    """The request that goes out; the answer is an error, which is not of interest here."""
    requests: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        request.read()
        requests.append(request)
        return httpx2.Response(404, json={"error": {"code": "not_found", "message": "no", "requestId": "r"}})

    with (
        Client("http://roost.test", transport=httpx2.MockTransport(answer)) as client,
        pytest.raises(RoostError),
    ):
        ask(client)
    return requests[0]


def body(ask: Callable[[Client], Any]) -> tuple[str, dict[str, Any]]:
    request = sent(ask)
    fields = json.loads(request.content)
    return request.url.path, {name: value for name, value in fields.items() if value is not None}


def test_segmentation() -> None:
    path, fields = body(
        lambda client: client.segmentation(
            "m", URL, points=[[[1, 2]]], labels=[[1]], mask_input=np.ones((1, 1)), multimask_output=False
        )
    )
    assert path == "/v1/inference/segmentation"
    assert (fields["image"], fields["points"], fields["labels"]) == (URL, [[[1, 2]]], [[1]])
    assert fields["maskInput"] == {"shape": [1, 1], "dtype": "float32", "data": "AACAPw=="}
    assert (fields["multimaskOutput"], fields["numMultimaskOutputs"]) == (False, 3)


def test_tracking() -> None:
    path, fields = body(
        lambda client: client.tracking("m", [URL, b"raw"], objects_ids=[4], keyframes=[BOX], propagate=True)
    )
    assert path == "/v1/inference/tracking"
    assert (fields["video"], fields["objectsIds"], fields["propagate"]) == ([URL, "cmF3"], [4], True)
    assert fields["keyframes"][0]["prompts"]["box"] == {"x": 1, "y": 2, "width": 3, "height": 4}


def test_frames_at_hand_are_uploaded() -> None:
    request = sent(lambda client: client.tracking("m", [b"first-frame", b"second-frame"]))
    assert request.url.path == "/v1/inference/tracking/binary"
    assert request.content.count(b'; name="frames"') == 2
    assert request.content.index(b"first-frame") < request.content.index(b"second-frame")


def test_vlm() -> None:
    path, fields = body(lambda client: client.vlm("m", [Message(role="user", content="hi")], temperature=0))
    assert path == "/v1/inference/vlm"
    assert fields == {
        "model": "m",
        "prompt": [{"role": "user", "content": "hi"}],
        "maxNewTokens": 256,
        "temperature": 0,
    }
    request = sent(lambda client: client.vlm("m", "what?", images=[b"picture"]))
    assert request.url.path == "/v1/inference/vlm/binary"
    assert b'name="images"' in request.content


def test_ner() -> None:
    assert body(lambda client: client.ner("m", "Ada")) == (
        "/v1/inference/ner",
        {"model": "m", "text": "Ada"},
    )


def test_embedding() -> None:
    path = "/v1/inference/embedding"
    assert body(lambda client: client.embedding("m", text="a")) == (
        path,
        {"model": "m", "text": "a", "normalize": True},
    )
    assert body(lambda client: client.embedding("m", text=("a", "b")))[1]["text"] == ["a", "b"]
    assert body(lambda client: client.embedding("m", image=URL))[1]["image"] == [URL]
    assert sent(lambda client: client.embedding("m", image=[b"x"])).url.path == f"{path}/binary"


def test_what_breaks_a_rule_is_not_sent() -> None:
    with Client("http://roost.test") as client:
        with pytest.raises(ValidationFailed, match="exactly one of image and text"):
            client.embedding("m")
        with pytest.raises(ValidationFailed, match="exactly one of image and text"):
            client.embedding("m", image=b"x", text="a")
        with pytest.raises(ValidationFailed, match="max_new_tokens=0 is not valid"):
            client.vlm("m", "hi", max_new_tokens=0)


def test_the_asynchronous_client_sends_the_same() -> None:
    paths: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        entity = {"text": "Ada", "label": "PERSON", "start": 0, "end": 3, "score": None}
        envelope = {"id": "r", "timestamp": "2026-11-30T12:00:00Z", "processingTime": 0.1, "metadata": {}}
        return httpx2.Response(200, json=envelope | {"data": {"entities": [entity]}})

    async def ask() -> str:
        async with AsyncClient("http://roost.test", transport=httpx2.MockTransport(answer)) as client:
            return (await client.ner("m", "Ada")).data.entities[0].label

    assert asyncio.run(ask()) == "PERSON"
    assert paths == ["/v1/inference/ner"]
