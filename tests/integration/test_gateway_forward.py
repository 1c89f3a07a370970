"""The gateway between real servers: uvicorn in front, uvicorn or a bare socket behind."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
import uvicorn

from roost.asgi.responses import send_json
from roost.asgi.types import ASGIApp, Receive, Scope, Send
from roost.capabilities.table import CAPABILITIES
from roost.errors import ModelNotDeployed
from roost.gateway.app import gateway_app
from roost.gateway.forward import Forwarder
from roost.gateway.inference import InferenceGateway
from roost.keys import DeploymentKey

LIMIT = 400_000
PATH = "/v1/inference/detection"
JSON_TYPE = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Route:
    name: str
    url: str
    timeout_s: float = 30.0
    key: DeploymentKey = field(default_factory=lambda: DeploymentKey("a", "b", "c"))
    capability: str | None = "detection"
    phase: str = "running"
    ray_status: str = "RUNNING"


class Table:
    """Two names of one deployment: `m`, and `quick` with a short time-out."""

    url = ""

    def resolve(self, model: str, capability: str) -> Route:
        if model not in ("m", "quick"):
            raise ModelNotDeployed(f"no model {model!r} is deployed.")
        return Route(model, self.url, timeout_s=0.3 if model == "quick" else 30.0)

    def snapshot(self) -> list[Route]:
        return []


class Upstream:
    """The app behind. What it does is named by the `x-do` header; what it saw is kept."""

    def __init__(self) -> None:
        self.peers: list[Any] = []
        self.heads: list[dict[bytes, bytes]] = []
        self.left = threading.Semaphore(0)
        self.arrived = threading.Semaphore(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.peers.append(scope["client"])
        self.heads.append(dict(scope["headers"]))
        do = dict(scope["headers"]).get(b"x-do", b"echo")
        await getattr(self, do.decode())(scope, receive, send)

    async def echo(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Streams back each piece as it comes."""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-request-id", b"theirs")]})
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.left.release()
                return
            more = message["more_body"]
            await send({"type": "http.response.body", "body": message["body"], "more_body": more})

    async def hang(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Never answers; notes the caller leaving."""
        self.arrived.release()
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.release()

    async def cut(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Breaks in the middle of its answer."""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise RuntimeError("broken on purpose")

    async def plain_error(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As Ray's ingress answers when it has no replica."""
        headers = [(b"content-type", b"text/plain"), (b"retry-after", b"3")]
        await send({"type": "http.response.start", "status": 500, "headers": headers})
        await send({"type": "http.response.body", "body": b"Internal Server Error"})

    async def no_route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As Ray's ingress answers before it has heard of an application."""
        await send(
            {"type": "http.response.start", "status": 404, "headers": [(b"content-type", b"text/plain")]}
        )
        await send({"type": "http.response.body", "body": b"Path '/r/x' not found."})

    async def lost_replica(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As HAProxy answers when a replica died over a request, or none took it."""
        await send(
            {"type": "http.response.start", "status": 500, "headers": [(b"content-type", b"text/plain")]}
        )
        await send({"type": "http.response.body", "body": b"Internal Server Error"})

    async def own_error(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 422, b'{"error":{}}')


@contextmanager
def serve(app: ASGIApp, lifespan: Literal["on", "off"] = "off") -> Iterator[int]:
    """uvicorn in a thread, on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    config = uvicorn.Config(app, loop="uvloop", http="httptools", lifespan=lifespan, log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@dataclass
class House:
    """A gateway and what it forwards to."""

    port: int
    forwarder: Forwarder
    upstream: Upstream
    lacks: dict[str, str]

    def post(
        self, body: bytes, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request("POST", PATH, body, JSON_TYPE | (headers or {}))
            response = connection.getresponse()
            return response, response.read()

    def error(self, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, dict[str, Any], Any]:
        response, answer = self.post(body, headers)
        return response.status, json.loads(answer)["error"], response.headers

    def begin(self, body: bytes, do: str, extra: str = "") -> socket.socket:
        """Send a request, or what `body` has of it, and leave the connection open."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        head = f"POST {PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nX-Do: {do}\r\n{extra}"
        length = "" if extra else f"Content-Length: {len(body)}\r\n"
        connection.sendall(f"{head}{length}\r\n".encode() + body)
        return connection


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    lacks: dict[str, str] = {}
    forwarder = Forwarder(margin_s=0.0, find_lack=lambda key: lacks.get(str(key), ""))
    upstream, table = Upstream(), Table()
    gateway = InferenceGateway(table, forwarder, CAPABILITIES, max_body_bytes=LIMIT)

    async def otherwise(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "lifespan"
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await forwarder.close()
        await send({"type": "lifespan.shutdown.complete"})

    with serve(upstream) as behind, serve(gateway_app(gateway, otherwise), "on") as front:
        table.url = f"http://127.0.0.1:{behind}/r/a/b/c"
        yield House(front, forwarder, upstream, lacks)


def eventually(holds: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not holds() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    return holds()


def request_of(size: int, model: str = "m") -> bytes:
    return json.dumps({"model": model, "image": "A" * size}).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.mark.parametrize("size", [10, 70_000, 300_000])
def test_bytes_come_back_as_they_went(house: House, size: int) -> None:
    response, answer = house.post(request_of(size), {"X-Request-ID": "my-id"})
    assert (response.status, answer) == (200, request_of(size))
    assert response.headers.get_all("X-Request-ID") == ["my-id"]
    assert house.upstream.heads[-1][b"x-request-id"] == b"my-id"
    assert house.upstream.heads[-1][b"content-length"] == str(len(answer)).encode()
    assert len(response.headers.get_all("Date") or []) == 1


def test_connections_to_the_upstream_are_kept(house: House) -> None:
    house.upstream.peers.clear()
    for _ in range(5):
        house.post(request_of(10))
    assert len(set(house.upstream.peers)) == 1


def test_a_streamed_body_reaches_the_upstream_before_it_is_complete(house: House) -> None:
    with house.begin(b"", "echo", "Transfer-Encoding: chunked\r\n") as connection:
        connection.sendall(chunk(b'{"model": "m", "classes": ["' + b"a" * 2000))
        seen = b""
        while b"a" * 2000 not in seen:
            seen += connection.recv(65536)
        connection.sendall(chunk(b'b"]}') + b"0\r\n\r\n")
        while not seen.endswith(b"0\r\n\r\n"):
            seen += connection.recv(65536)
    assert seen.startswith(b"HTTP/1.1 200")
    assert b'b"]}' in seen
    assert house.upstream.heads[-1][b"transfer-encoding"] == b"chunked"


def test_a_body_over_the_limit_is_refused_declared_or_chunked(house: House) -> None:
    status, error, _ = house.error(request_of(LIMIT))
    assert (status, error["code"]) == (413, "payload_too_large")
    for first in (b'{"model": "m", "image": "', b'{"image": "'):
        with house.begin(b"", "hang", "Transfer-Encoding: chunked\r\n") as connection:
            connection.sendall(chunk(first))
            for _ in range(5):
                connection.sendall(chunk(b"A" * 100_000))
            assert connection.recv(65536).startswith(b"HTTP/1.1 413")
    assert eventually(lambda: house.forwarder.in_flight == 0)


def test_a_caller_who_leaves_closes_the_upstream(house: House) -> None:
    house.begin(request_of(10), "hang").close()
    assert house.upstream.left.acquire(timeout=10)
    half = house.begin(b'{"model": "m", "image": "' + b"A" * 2000, "hang", "Content-Length: 300000\r\n")
    assert house.upstream.arrived.acquire(timeout=10)
    half.close()
    assert house.upstream.left.acquire(timeout=10)
    assert eventually(lambda: house.forwarder.in_flight == 0)


def test_a_hundred_leavers_leave_nothing_in_flight(house: House) -> None:
    connections = [house.begin(request_of(10), "hang") for _ in range(100)]
    assert eventually(lambda: house.forwarder.in_flight == 100)
    for connection in connections:
        connection.close()
    for _ in range(100):
        assert house.upstream.left.acquire(timeout=10)
    assert eventually(lambda: house.forwarder.in_flight == 0)
    assert house.post(request_of(10))[0].status == 200


def test_an_answer_cut_in_the_middle_is_an_error_to_the_caller(house: House) -> None:
    with pytest.raises(http.client.IncompleteRead):
        house.post(request_of(10), {"X-Do": "cut"})


def test_time_runs_out(house: House) -> None:
    status, error, _ = house.error(request_of(10, "quick"), {"X-Do": "hang"})
    assert (status, error["code"]) == (504, "timeout")
    assert house.upstream.left.acquire(timeout=10)
    assert house.forwarder.in_flight == 0


def test_time_runs_out_where_no_node_can_hold_the_model(house: House) -> None:
    house.lacks["a/b/c"] = "Waits for room: one replica needs 1 GPUs; no node is alive."
    try:
        status, error, _ = house.error(request_of(10, "quick"), {"X-Do": "hang"})
    finally:
        house.lacks.clear()
    assert (status, error["code"]) == (503, "unavailable")
    assert error["message"] == "deployment 'quick' has no replica, and none can start."
    assert error["hint"].startswith("Waits for room: one replica needs 1 GPUs; no node is alive. Join a node")
    assert house.upstream.left.acquire(timeout=10)
    assert house.forwarder.in_flight == 0


def test_an_ingress_error_becomes_the_envelope_and_a_replicas_own_passes(house: House) -> None:
    status, error, headers = house.error(request_of(10), {"X-Do": "plain_error"})
    assert (status, error["code"], headers["Retry-After"]) == (503, "unavailable", "3")
    status, error, headers = house.error(request_of(10), {"X-Do": "no_route"})
    assert (status, error["code"], headers["Retry-After"]) == (503, "unavailable", "1")
    status, error, headers = house.error(request_of(10), {"X-Do": "lost_replica"})
    assert (status, error["code"], headers["Retry-After"]) == (503, "unavailable", None)
    assert error["hint"].startswith("The request may have run")
    response, answer = house.post(request_of(10), {"X-Do": "own_error"})
    assert (response.status, answer) == (422, b'{"error":{}}')


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PROPFIND"])
def test_other_methods_are_told_what_is_allowed(house: House, method: str) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", house.port, timeout=20)) as connection:
        connection.request(method, PATH)
        response = connection.getresponse()
        body = response.read()
    assert (response.status, response.headers["Allow"]) == (405, "POST")
    assert body == b"" if method == "HEAD" else json.loads(body)["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "path", ["/v1/inference/nothing", "/v1/inference/", f"{PATH}/../x", f"{PATH}//binary"]
)
def test_an_unknown_path_is_not_found(house: House, path: str) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", house.port, timeout=20)) as connection:
        connection.request("POST", path, b"{}", JSON_TYPE)
        response = connection.getresponse()
        error = json.loads(response.read())["error"]
    assert (response.status, error["code"]) == (404, "not_found")
    assert "detection" in error["hint"]
    assert error["requestId"] == response.headers["X-Request-ID"]


def test_an_unknown_model_and_a_wrong_type_are_told(house: House) -> None:
    assert house.error(request_of(10, "nobody"))[0] == 404
    assert house.error(b"x", {"Content-Type": "text/plain"})[0] == 415
    assert house.error(b"{}")[0] == 422
    assert house.error(b"nonsense")[0] == 400
