from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from roost.asgi.types import ASGIApp, Message
from roost.capabilities import (
    DetectionInput,
    DetectionInterface,
    DetectionModel,
    DetectionOutput,
)
from roost.contracts.replica import ReplicaLimits
from roost.errors import BadRequest
from roost.replica.served_model import ServedModel

URL = "/v1/inference/detection"


def png(width: int = 8, height: int = 6) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (width, height), (9, 8, 7)).save(stream, "PNG")
    return stream.getvalue()


def request_body(image: bytes | str | None = None, **fields: object) -> bytes:
    source = image if isinstance(image, str) else base64.b64encode(image or png()).decode()
    return json.dumps({"model": "fam/suf", "image": source, **fields}).encode()


def multipart(*parts: tuple[str, bytes]) -> bytes:
    pieces = [
        b'--XX\r\nContent-Disposition: form-data; name="' + name.encode() + b'"\r\n\r\n' + data + b"\r\n"
        for name, data in parts
    ]
    return b"".join(pieces) + b"--XX--\r\n"


class SizeModel(DetectionModel):
    """Answers with one box of the image's size, labelled by what the replica gave it."""

    def load_model(self) -> None:
        self.label = f"{self.config.get('label', 'none')} {self.weights}"

    def predict(self, input: DetectionInput) -> DetectionOutput:
        return DetectionOutput(
            boxes=[[0, 0, *input.image.size]], scores=[input.box_threshold], classes=[self.label]
        )

    @property
    def interface(self) -> DetectionInterface:
        return DetectionInterface(classes="closed", class_names=["size"], outputs=["box"])


def test_answers_in_the_envelope(call: Any, serve: Any) -> None:
    answer = serve(
        SizeModel,
        lambda app, _: call(
            app, "POST", URL, request_body(box_threshold=0.25), headers=[(b"x-request-id", b"my-id.1")]
        ),
        weights=Path("/w"),
        config={"label": "cat"},
    )
    body = answer.json
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"] == "my-id.1"
    assert body.pop("timestamp").endswith("Z")
    assert 0 <= body.pop("processingTime") < 60
    assert body == {
        "id": "my-id.1",
        "status": "SUCCESS",
        "metadata": {
            "model": "fam/suf",
            "capability": "detection",
            "modelClass": "SizeModel",
            "deployment": "fam/suf/run",
        },
        "data": {"boxes": [[0, 0, 8, 6]], "scores": [0.25], "classes": ["cat /w"], "masks": None},
    }


@pytest.mark.parametrize("field", ["boxThreshold", "box_threshold"])
def test_reads_camel_and_snake_case(call: Any, serve: Any, field: str) -> None:
    answer = serve(SizeModel, lambda app, _: call(app, "POST", URL, request_body(None, **{field: 0.125})))
    assert answer.json["data"]["scores"] == [0.125]


def test_binary_takes_the_raw_image(call: Any, serve: Any) -> None:
    parts = multipart(("metadata", b'{"model": "m", "boxThreshold": 0.5}'), ("image", png(40, 30)))
    answer = serve(
        SizeModel,
        lambda app, _: call(
            app, "POST", URL + "/binary", parts, content_type="multipart/form-data; boundary=XX"
        ),
    )
    assert answer.json["data"]["boxes"] == [[0, 0, 40, 30]]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([("image", b"x")], "no part 'metadata'"),
        ([("metadata", b'{"model": "m"}')], "no part 'image'"),
        ([("metadata", b'{"model": "m"}'), ("image", b"x"), ("image", b"y")], "part 'image' is not expected"),
        ([("metadata", b'{"model": "m"}'), ("imagee", b"x")], "part 'imagee' is not expected"),
        ([("metadata", b"{oops"), ("image", b"x")], "not valid JSON"),
        ([("metadata", b'{"model": "m"}'), ("image", b"not an image")], "image of 12 bytes"),
    ],
)
def test_bad_binary_requests_are_400(
    call: Any, serve: Any, parts: list[tuple[str, bytes]], said: str
) -> None:
    answer = serve(
        SizeModel,
        lambda app, _: call(
            app, "POST", URL + "/binary", multipart(*parts), content_type="multipart/form-data; boundary=XX"
        ),
    )
    assert answer.status == 400
    assert said in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "content_type", "status", "reason"),
    [
        ("POST", URL, b"{oops", "application/json", 400, "bad_request"),
        ("POST", URL, b"", "application/json", 400, "bad_request"),
        ("POST", URL, b"[1]", "application/json", 422, "validation_failed"),
        ("POST", URL, b'{"model": "m"}', "application/json", 422, "validation_failed"),
        ("POST", URL, request_body(box_threshold=2), "application/json", 422, "validation_failed"),
        ("POST", URL, request_body(), "text/plain", 415, "unsupported_media_type"),
        ("POST", URL, request_body(), None, 415, "unsupported_media_type"),
        ("POST", URL + "/binary", request_body(), "application/json", 415, "unsupported_media_type"),
        ("POST", URL, request_body("bm90IGFuIGltYWdl"), "application/json", 400, "invalid_media"),
        ("POST", URL, request_body(png()[:-40]), "application/json", 400, "invalid_media"),
        ("POST", URL, request_body("http://127.0.0.1/a.png"), "application/json", 400, "invalid_media"),
        ("POST", URL, request_body("/etc/passwd"), "application/json", 400, "invalid_media"),
        ("GET", URL, b"", None, 405, "method_not_allowed"),
        ("POST", "/v1/interface", b"", None, 405, "method_not_allowed"),
        ("POST", "/v1/inference/nonsense", b"{}", "application/json", 404, "not_found"),
        ("POST", URL + "/", b"{}", "application/json", 404, "not_found"),
        ("POST", "//v1/inference/detection", b"{}", "application/json", 404, "not_found"),
        ("POST", "", b"{}", "application/json", 404, "not_found"),
    ],
)
def test_what_the_caller_did_wrong_is_said(
    call: Any,
    serve: Any,
    method: str,
    path: str,
    body: bytes,
    content_type: str | None,
    status: int,
    reason: str,
) -> None:
    answer = serve(SizeModel, lambda app, _: call(app, method, path, body, content_type=content_type))
    error = answer.json["error"]
    assert (answer.status, error.get("reason", error["code"])) == (status, reason)
    assert error["requestId"] == answer.headers["x-request-id"]


def test_each_bad_field_is_listed(call: Any, serve: Any) -> None:
    answer = serve(SizeModel, lambda app, _: call(app, "POST", URL, b'{"model": "", "boxThreshold": 7}'))
    issues = answer.json["error"]["issues"]
    assert sorted(issue["loc"][0] for issue in issues) == ["boxThreshold", "image", "model"]
    assert all(issue["message"] for issue in issues)


def test_the_path_is_relative_to_the_mount(call: Any, serve: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> list[int]:
        bodies = [
            await call(app, "POST", URL, request_body(), root_path=""),
            await call(app, "POST", URL, request_body(), root_path="/deep/r/a/b/c/0123456789ab"),
        ]
        return [answer.status for answer in bodies]

    assert serve(SizeModel, use) == [200, 200]


@pytest.mark.parametrize("chunks", [[b"x" * 60, b"x" * 60], b"x" * 101])
def test_a_body_over_the_limit_is_413(call: Any, serve: Any, chunks: Any) -> None:
    answer = serve(
        SizeModel, lambda app, _: call(app, "POST", URL, chunks), limits=ReplicaLimits(max_body_bytes=100)
    )
    assert (answer.status, answer.json["error"]["code"]) == (413, "payload_too_large")


def test_too_many_pixels_are_413(call: Any, serve: Any) -> None:
    answer = serve(
        SizeModel,
        lambda app, _: call(app, "POST", URL, request_body()),
        limits=ReplicaLimits(max_image_pixels=47),
    )
    assert (answer.status, answer.json["error"]["code"]) == (413, "payload_too_large")


def test_media_over_the_inline_size_are_loaded_too(call: Any, serve: Any) -> None:
    noise = Image.effect_noise((400, 300), 90).convert("RGB")
    stream = io.BytesIO()
    noise.save(stream, "PNG")
    assert len(stream.getvalue()) > 64 * 1024
    answer = serve(SizeModel, lambda app, _: call(app, "POST", URL, request_body(stream.getvalue())))
    assert answer.json["data"]["boxes"] == [[0, 0, 400, 300]]


def test_says_its_interface_and_its_health(call: Any, serve: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> list[Any]:
        return [(await call(app, "GET", path)).json for path in ("/v1/interface", "/v1/health")]

    assert serve(SizeModel, use) == [
        {
            "capability": "detection",
            "classes": "closed",
            "classNames": ["size"],
            "thresholds": [],
            "outputs": ["box"],
        },
        {"status": "ok"},
    ]


class FailingModel(DetectionModel):
    def load_model(self) -> None:
        pass

    def predict(self, input: DetectionInput) -> DetectionOutput:
        match (input.classes or [""])[0]:
            case "ours":
                raise BadRequest("class 'ours' is not one of mine.")
            case "exit":
                raise SystemExit(3)
            case "type":
                return "no output"  # type: ignore[return-value]
            case "nan":
                return DetectionOutput(boxes=[[0, 0, 1, 1]], scores=[float("nan")], classes=["x"])
            case "inf":
                return DetectionOutput(boxes=[[0, 0, 1, 1]], scores=[float("-inf")], classes=["x"])
        raise ValueError("secret of the model")


@pytest.mark.parametrize(
    ("kind", "status", "code", "said"),
    [
        ("ours", 400, "bad_request", "class 'ours' is not one of mine."),
        ("any", 500, "model_error", "The model's code raised ValueError."),
        ("exit", 500, "model_error", "The model's code raised SystemExit."),
        ("type", 500, "model_error", "The model returned str instead of DetectionOutput."),
    ],
)
def test_what_the_model_raises(
    call: Any, serve: Any, caplog: pytest.LogCaptureFixture, kind: str, status: int, code: str, said: str
) -> None:
    answer = serve(FailingModel, lambda app, _: call(app, "POST", URL, request_body(classes=[kind])))
    error = answer.json["error"]
    assert (answer.status, error["code"], error["message"]) == (status, code, said)
    assert b"secret" not in answer.body
    assert ("secret of the model" in caplog.text) == (kind == "any")


@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_numbers_that_json_lacks_are_null(call: Any, serve: Any, kind: str) -> None:
    answer = serve(FailingModel, lambda app, _: call(app, "POST", URL, request_body(classes=[kind])))
    assert answer.json["data"]["scores"] == [None]


def test_websockets_are_closed(serve: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> list[Message]:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await app({"type": "websocket", "path": URL, "headers": []}, receive, send)
        return sent

    assert serve(SizeModel, use) == [{"type": "websocket.close", "code": 1000}]
