"""What the one thread of a model means for those who call it."""

from __future__ import annotations

import asyncio
import base64
import gc
import io
import json
import threading
import weakref
from typing import Any

from PIL import Image

from roost.asgi.types import ASGIApp, Message
from roost.capabilities import DetectionInput, DetectionModel, DetectionOutput
from roost.contracts.replica import ReplicaLimits
from roost.replica.served_model import ServedModel

URL = "/v1/inference/detection"


def request_body(box_threshold: float = 0.5) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 6)).save(stream, "PNG")
    image = base64.b64encode(stream.getvalue()).decode()
    return json.dumps({"model": "fam/suf", "image": image, "boxThreshold": box_threshold}).encode()


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


def test_a_request_that_takes_too_long_is_504_and_leaves_the_queue(call: Any, serve: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> tuple[list[int], int]:
        held = asyncio.ensure_future(call(app, "POST", URL, request_body(0.1)))
        await asyncio.to_thread(Held.entered.wait)
        queued = await call(app, "POST", URL, request_body(0.2))
        first = await held
        Held.gate.set()
        last = await call(app, "POST", URL, request_body(0.3))
        return [first.status, queued.status], last.status

    timed_out, after = serve(Held, use, limits=ReplicaLimits(timeout_s=0.2))
    assert timed_out == [504, 504]
    assert after == 200
    assert Held.asked == [0.1, 0.3]


def test_a_body_that_never_ends_is_504(call: Any, serve: Any) -> None:
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

    assert serve(Held, use, limits=ReplicaLimits(timeout_s=0.05)) == 504


def test_callers_who_leave_free_their_place_and_their_images(call: Any, serve: Any) -> None:
    async def use(app: ASGIApp, _: ServedModel) -> int:
        held = asyncio.ensure_future(call(app, "POST", URL, request_body(0.1)))
        await asyncio.to_thread(Held.entered.wait)
        leavers = [asyncio.ensure_future(call(app, "POST", URL, request_body(0.2))) for _ in range(100)]
        await asyncio.wait(leavers, timeout=0)
        for leaver in leavers:
            leaver.cancel()
        await asyncio.gather(*leavers, return_exceptions=True)
        Held.gate.set()
        await held
        last = await call(app, "POST", URL, request_body(0.3))
        return int(last.status)

    assert serve(Held, use) == 200
    assert Held.asked == [0.1, 0.3]
    gc.collect()
    assert [image() for image in Held.images] == [None, None]


def test_only_a_call_past_the_limit_makes_it_unhealthy(call: Any, serve: Any) -> None:
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


def test_the_server_shutting_down_unloads_the_model(serve: Any) -> None:
    unloaded: list[str] = []

    class Unloading(DetectionModel):
        def load_model(self) -> None:
            pass

        def predict(self, input: DetectionInput) -> DetectionOutput:
            raise NotImplementedError

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
