"""Which requests reach the forwarder, and what the others are told."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from roost.asgi.types import Message, Receive, Scope, Send
from roost.capabilities.table import CAPABILITIES
from roost.errors import ModelNotDeployed
from roost.gateway.app import gateway_app
from roost.gateway.forward import Body, Forwarder
from roost.gateway.inference import InferenceGateway
from roost.gateway.table import RouteView
from roost.keys import DeploymentKey

KEY = DeploymentKey("a", "b", "c")


@dataclass(frozen=True)
class Route:
    name: str = "a/b"
    key: DeploymentKey = KEY
    url: str = "http://127.0.0.1:1/r/a/b/c"
    capability: str | None = "detection"
    phase: str = "running"
    timeout_s: float = 60.0
    ray_status: str = "RUNNING"


class Table:
    def resolve(self, model: str, capability: str) -> Route:
        if model != "a/b":
            raise ModelNotDeployed(f"no model {model!r} is deployed.")
        return Route()

    def snapshot(self) -> list[Route]:
        return [Route()]


class Recorder(Forwarder):
    """Keeps what would be forwarded, and answers 200."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, str, Body]] = []

    async def forward(
        self, scope: Scope, receive: Receive, send: Send, *, route: RouteView, path: str, body: Body
    ) -> None:
        self.calls.append((route.name, path, body))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@dataclass
class Answer:
    status: int
    headers: dict[bytes, bytes]
    body: bytes
    calls: list[tuple[str, str, Body]]
    reads: int

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


@dataclass
class Request:
    path: str = "/v1/inference/detection"
    method: str = "POST"
    pieces: list[bytes] = field(default_factory=lambda: [b'{"model": "a/b"}'])
    headers: list[tuple[bytes, bytes]] = field(
        default_factory=lambda: [(b"content-type", b"application/json")]
    )


def ask(request: Request, limit: int = 1000) -> Answer:
    sent: list[Message] = []
    reads = 0
    forwarder = Recorder()

    async def receive() -> Message:
        nonlocal reads
        reads += 1
        return {
            "type": "http.request",
            "body": request.pieces[reads - 1],
            "more_body": reads < len(request.pieces),
        }

    async def send(message: Message) -> None:
        sent.append(message)

    async def otherwise(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = gateway_app(InferenceGateway(Table(), forwarder, CAPABILITIES, max_body_bytes=limit), otherwise)

    async def run() -> None:
        await app(
            {"type": "http", "method": request.method, "path": request.path, "headers": request.headers},
            receive,
            send,
        )

    asyncio.run(run())
    return Answer(sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"], forwarder.calls, reads)


def test_a_whole_body_is_forwarded_as_it_is() -> None:
    answer = ask(Request())
    assert answer.status == 200
    assert answer.calls == [("a/b", "/v1/inference/detection", Body([b'{"model": "a/b"}'], more=False))]


def test_a_small_body_in_pieces_is_gathered_first() -> None:
    length = (b"content-length", b"16")
    request = Request(pieces=[b'{"mod', b'el": "a', b'/b"}'], headers=[*Request().headers, length])
    (call,) = ask(request).calls
    assert (b"".join(call[2].pieces), call[2].more) == (b'{"model": "a/b"}', False)


def test_a_long_body_goes_on_once_the_model_is_known() -> None:
    answer = ask(Request(pieces=[b'{"model": "a/b", ' + b" " * 1100, b"}"]), limit=0)
    assert answer.reads == 1
    assert answer.calls[0][2].more


def test_multipart_goes_to_the_binary_route() -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{"model": "a/b"}\r\n--x--\r\n'
    request = Request(
        path="/v1/inference/detection/binary",
        pieces=[part],
        headers=[(b"content-type", b"Multipart/Form-Data; boundary=x")],
    )
    assert ask(request).calls == [("a/b", "/v1/inference/detection/binary", Body([part], more=False))]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "BREW"])
def test_other_methods_are_told_what_is_allowed(method: str) -> None:
    answer = ask(Request(method=method))
    assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")
    assert answer.error["code"] == "method_not_allowed"
    assert answer.reads == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/inference/",
        "/v1/inference/sorting",
        "/v1/inference/detection/",
        "/v1/inference/../x",
        "/v1/inference//",
    ],
)
def test_an_unknown_path_lists_the_capabilities(path: str) -> None:
    answer = ask(Request(path=path))
    assert (answer.status, answer.error["code"]) == (404, "not_found")
    assert "detection" in answer.error["hint"]
    assert answer.error["requestId"].encode() == answer.headers[b"x-request-id"]


@pytest.mark.parametrize("path", ["/v1/models", "/v1/inference", "/", "/v1/inferences/detection"])
def test_everything_else_goes_elsewhere(path: str) -> None:
    assert ask(Request(path=path)).status == 299


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"content-type", b"text/plain")],
        [(b"content-type", b"multipart/form-data; boundary=x")],
        [(b"content-type", b"application/json"), (b"content-encoding", b"gzip")],
    ],
)
def test_another_media_type_is_refused_before_the_body_is_read(headers: list[tuple[bytes, bytes]]) -> None:
    answer = ask(Request(headers=headers))
    assert (answer.status, answer.error["code"]) == (415, "unsupported_media_type")
    assert answer.reads == 0


def test_a_body_over_the_limit_is_refused() -> None:
    declared = Request(headers=[*Request().headers, (b"content-length", b"1001")])
    assert (ask(declared).status, ask(declared).reads) == (413, 0)
    assert ask(Request(pieces=[b'{"a": "' + b"x" * 600, b"x" * 600, b'"}'])).status == 413


def test_an_unknown_model_is_not_found() -> None:
    answer = ask(Request(pieces=[b'{"model": "c/d"}']))
    assert (answer.status, answer.error["reason"]) == (404, "model_not_deployed")
