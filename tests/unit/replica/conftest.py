"""Serves models and calls ASGI apps in memory, as a server would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from roost.asgi.types import ASGIApp, Message
from roost.capabilities import InferenceModel, MediaPolicy
from roost.capabilities.table import get_capability
from roost.contracts.replica import ReplicaLimits
from roost.keys import DeploymentKey
from roost.replica.inference_app import InferenceApp
from roost.replica.served_model import ServedModel
from roost.replica.stack import build_stack


@dataclass
class Answer:
    """What the app sent."""

    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int:
        status: int = self.messages[0]["status"]
        return status

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode().lower(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Call = Callable[..., Awaitable[Answer]]


async def call_app(
    app: ASGIApp,
    method: str,
    path: str,
    body: bytes | Sequence[bytes] = b"",
    *,
    content_type: str | None = "application/json",
    headers: Sequence[tuple[bytes, bytes]] = (),
    root_path: str = "/r/fam/suf/run",
) -> Answer:
    """One request, with the body in one piece or, given a list, in chunks without a declared length."""
    chunks = [body] if isinstance(body, bytes) else list(body)
    sent = [(b"content-length", b"%d" % len(body))] if isinstance(body, bytes) else []
    if content_type is not None:
        sent.append((b"content-type", content_type.encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": root_path + path,
        "raw_path": (root_path + path).encode(),
        "query_string": b"",
        "root_path": root_path,
        "headers": [*sent, *headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    answer = Answer()
    queue = iter(range(len(chunks)))

    async def receive() -> Message:
        index = next(queue, None)
        if index is None:
            await asyncio.Event().wait()
        assert index is not None
        return {"type": "http.request", "body": chunks[index], "more_body": index < len(chunks) - 1}

    async def send(message: Message) -> None:
        answer.messages.append(message)

    await app(scope, receive, send)
    return answer


@pytest.fixture
def call() -> Call:
    return call_app


def serve_model(
    model_class: type[InferenceModel[Any, Any]],
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
            DeploymentKey("fam", "suf", "run"),
            capability=get_capability(model_class.__roost_capability__),
            policy=MediaPolicy(max_image_pixels=limits.max_image_pixels),
            timeout_s=limits.timeout_s or 60.0,
        )
        try:
            await model.load(weights, config or {})
            return await use(build_stack(InferenceApp(model, limits), close=model.close), model)
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.fixture
def serve() -> Callable[..., Any]:
    return serve_model
