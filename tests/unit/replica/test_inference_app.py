from __future__ import annotations

import asyncio
import base64
import gc
import io
import json
import threading
import weakref
from collections.abc import Awaitable, Callable
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
    MediaPolicy,
)
from roost.capabilities.table import get_capability
from roost.contracts.replica import ReplicaLimits
from roost.errors import BadRequest
from roost.keys import DeploymentKey
from roost.replica.inference_app import InferenceApp
from roost.replica.served_model import ServedModel
from roost.replica.stack import build_stack

KEY = DeploymentKey("fam", "suf", "run")
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


Serve = Callable[[ASGIApp], Awaitable[Any]]


def serve(
    model_class: type[DetectionModel],
    use: Callable[[ASGIApp, ServedModel], Awaitable[Any]],
    *,
    limits: ReplicaLimits | None = None,
    weights: Path | None = None,
    config: dict[str, str] | None = None,
) -> Any:
    """Load the model, hand its app to `use`, unload it, and return what `use` returned."""
    limits = limits or ReplicaLimits()

    async def run() -> Any:
        model = ServedModel(
            model_class,
            KEY,
            capability=get_capability("detection"),
            policy=MediaPolicy(max_image_pixels=limits.max_image_pixels),
            timeout_s=limits.timeout_s or 60.0,
        )
        try:
            await model.load(weights, config or {})
            return await use(build_stack(InferenceApp(model, limits), close=model.close), model)
        finally:
            await model.close()

    return asyncio.run(run())


def test_answers_in_the_envelope(call: Any) -> None:
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
def test_reads_camel_and_snake_case(call: Any, field: str) -> None:
    answer = serve(SizeModel, lambda app, _: call(app, "POST", URL, request_body(None, **{field: 0.125})))
    assert answer.json["data"]["scores"] == [0.125]


def test_binary_takes_the_raw_image(call: Any) -> None:
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
def test_bad_binary_requests_are_400(call: Any, parts: list[tuple[str, bytes]], said: str) -> None:
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
    call: Any, method: str, path: str, body: bytes, content_type: str | None, status: int, reason: str
) -> None:
    answer = serve(SizeModel, lambda app, _: call(app, method, path, body, content_type=content_type))
    error = answer.json["error"]
    assert (answer.status, error.get("reason", error["code"])) == (status, reason)
    assert error["requestId"] == answer.headers["x-request-id"]


def test_each_bad_field_is_listed(call: Any) -> None:
    answer = serve(SizeModel, lambda app, _: call(app, "POST", URL, b'{"model": "", "boxThreshold": 7}'))
    issues = answer.json["error"]["issues"]
    assert sorted(issue["loc"][0] for issue in issues) == ["boxThreshold", "image", "model"]
    assert all(issue["message"] for issue in issues)


def test_the_path_is_relative_to_the_mount(call: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> list[int]:
        bodies = [
            await call(app, "POST", URL, request_body(), root_path=""),
            await call(app, "POST", URL, request_body(), root_path="/deep/r/a/b/c/0123456789ab"),
        ]
        return [answer.status for answer in bodies]

    assert serve(SizeModel, use) == [200, 200]


@pytest.mark.parametrize("chunks", [[b"x" * 60, b"x" * 60], b"x" * 101])
def test_a_body_over_the_limit_is_413(call: Any, chunks: Any) -> None:
    answer = serve(
        SizeModel, lambda app, _: call(app, "POST", URL, chunks), limits=ReplicaLimits(max_body_bytes=100)
    )
    assert (answer.status, answer.json["error"]["code"]) == (413, "payload_too_large")


def test_too_many_pixels_are_413(call: Any) -> None:
    answer = serve(
        SizeModel,
        lambda app, _: call(app, "POST", URL, request_body()),
        limits=ReplicaLimits(max_image_pixels=47),
    )
    assert (answer.status, answer.json["error"]["code"]) == (413, "payload_too_large")


def test_media_over_the_inline_size_are_loaded_too(call: Any) -> None:
    noise = Image.effect_noise((400, 300), 90).convert("RGB")
    stream = io.BytesIO()
    noise.save(stream, "PNG")
    assert len(stream.getvalue()) > 64 * 1024
    answer = serve(SizeModel, lambda app, _: call(app, "POST", URL, request_body(stream.getvalue())))
    assert answer.json["data"]["boxes"] == [[0, 0, 400, 300]]


def test_says_its_interface_and_its_health(call: Any) -> None:
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
    call: Any, caplog: pytest.LogCaptureFixture, kind: str, status: int, code: str, said: str
) -> None:
    answer = serve(FailingModel, lambda app, _: call(app, "POST", URL, request_body(classes=[kind])))
    error = answer.json["error"]
    assert (answer.status, error["code"], error["message"]) == (status, code, said)
    assert b"secret" not in answer.body
    assert ("secret of the model" in caplog.text) == (kind == "any")


@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_numbers_that_json_lacks_are_null(call: Any, kind: str) -> None:
    answer = serve(FailingModel, lambda app, _: call(app, "POST", URL, request_body(classes=[kind])))
    assert answer.json["data"]["scores"] == [None]


class Held(DetectionModel):
    """Predicts when the gate opens."""

    gate = threading.Event()
    entered = threading.Event()
    asked: list[float]
    images: list[weakref.ref[Any]]

    def load_model(self) -> None:
        cls = type(self)
        cls.gate, cls.entered, cls.asked, cls.images = threading.Event(), threading.Event(), [], []

    def predict(self, input: DetectionInput) -> DetectionOutput:
        self.asked.append(input.box_threshold)
        self.images.append(weakref.ref(input.image))
        self.entered.set()
        self.gate.wait()
        return DetectionOutput(boxes=[], scores=[], classes=[])


def test_a_request_that_takes_too_long_is_504_and_leaves_the_queue(call: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> tuple[list[int], int]:
        held = asyncio.ensure_future(call(app, "POST", URL, request_body(box_threshold=0.1)))
        await asyncio.to_thread(Held.entered.wait)
        queued = await call(app, "POST", URL, request_body(box_threshold=0.2))
        first = await held
        Held.gate.set()
        last = await call(app, "POST", URL, request_body(box_threshold=0.3))
        return [first.status, queued.status], last.status

    timed_out, after = serve(Held, use, limits=ReplicaLimits(timeout_s=0.2))
    assert timed_out == [504, 504]
    assert after == 200
    assert Held.asked == [0.1, 0.3]


def test_a_body_that_never_ends_is_504(call: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> Any:
        messages: list[Message] = []

        async def receive() -> Message:
            if not messages:
                messages.append({})
                return {"type": "http.request", "body": b"{", "more_body": True}
            return await asyncio.Event().wait()  # type: ignore[return-value]

        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": URL, "root_path": "", "headers": []}
        await app(scope, receive, send)
        return sent[0]["status"]

    assert serve(SizeModel, use, limits=ReplicaLimits(timeout_s=0.05)) == 504


def test_callers_who_leave_free_their_place_and_their_images(call: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> int:
        held = asyncio.ensure_future(call(app, "POST", URL, request_body(box_threshold=0.1)))
        await asyncio.to_thread(Held.entered.wait)
        leavers = [
            asyncio.ensure_future(call(app, "POST", URL, request_body(box_threshold=0.2))) for _ in range(100)
        ]
        await asyncio.wait(leavers, timeout=0)
        for leaver in leavers:
            leaver.cancel()
        await asyncio.gather(*leavers, return_exceptions=True)
        Held.gate.set()
        await held
        last = await call(app, "POST", URL, request_body(box_threshold=0.3))
        return int(last.status)

    assert serve(Held, use) == 200
    assert Held.asked == [0.1, 0.3]
    gc.collect()
    assert [image() for image in Held.images] == [None, None]


def test_only_a_call_past_the_limit_makes_it_unhealthy(call: Any) -> None:
    async def use(app: ASGIApp, model: ServedModel) -> list[int]:
        held = asyncio.ensure_future(call(app, "POST", URL, request_body()))
        await asyncio.to_thread(Held.entered.wait)
        busy = await call(app, "GET", "/v1/health")
        await held
        wedged = await call(app, "GET", "/v1/health")
        Held.gate.set()
        await model._thread.run(lambda: None)
        healed = await call(app, "GET", "/v1/health")
        return [busy.status, wedged.status, healed.status]

    assert serve(Held, use, limits=ReplicaLimits(timeout_s=0.3)) == [200, 503, 200]


def test_the_server_shutting_down_unloads_the_model() -> None:
    unloaded: list[str] = []

    class Unloading(SizeModel):
        def unload(self) -> None:
            unloaded.append(threading.current_thread().name)

    async def use(app: ASGIApp, _: ServedModel) -> list[str]:
        sent: list[str] = []
        to_app = iter(["lifespan.startup", "lifespan.shutdown"])

        async def receive() -> Message:
            return {"type": next(to_app)}

        async def send(message: Message) -> None:
            sent.append(message["type"])

        await app({"type": "lifespan"}, receive, send)
        return sent

    assert serve(Unloading, use) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert unloaded == ["model fam/suf/run"]


def test_websockets_are_closed() -> None:
    async def use(app: ASGIApp, _: ServedModel) -> list[Message]:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await app({"type": "websocket", "path": URL, "headers": []}, receive, send)
        return sent

    assert serve(SizeModel, use) == [{"type": "websocket.close", "code": 1000}]
