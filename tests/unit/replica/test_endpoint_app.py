"""Endpoints as a replica serves them, called in memory."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from roost.asgi.request_id import current_request_id
from roost.asgi.types import ASGIApp, Message
from roost.contracts.endpoint_document import write_document
from roost.contracts.endpoint_methods import endpoints_of
from roost.contracts.replica import ReplicaLimits
from roost.errors import NotFound, Unavailable
from roost.replica.endpoint_app import EndpointApp
from roost.replica.endpoint_calls import EndpointCalls
from roost.replica.endpoint_threads import EndpointThreads
from roost.replica.stack import build_stack
from roost.serve import endpoint

TIMEOUT_S = 0.05


class Kinds:
    """Endpoints of every kind."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.gate = threading.Event()

    @endpoint
    def greet(self, name: str, times: int = 1) -> str:
        """Greets from a thread."""
        self.steps.append(threading.current_thread().name)
        return f"hi {name}" * times

    @endpoint
    async def whoami(self) -> str:
        return current_request_id()

    @endpoint
    def thread_id(self) -> str:
        return current_request_id()

    @endpoint
    def fails(self, how: str) -> int:
        if how == "known":
            raise NotFound("no such word 'x'.", hint="Ask for another.")
        if how == "exit":
            raise SystemExit(3)
        if how == "stop":
            raise StopIteration
        if how == "result":
            return "secret"  # type: ignore[return-value]
        raise ValueError("secret")

    @endpoint(timeout_s=TIMEOUT_S)
    async def hangs(self) -> None:
        await asyncio.Event().wait()

    @endpoint(timeout_s=TIMEOUT_S)
    def holds(self) -> None:
        self.gate.wait()

    @endpoint
    async def count(self, to: int, fail: str = "") -> AsyncIterator[int]:
        try:
            for number in range(to):
                yield number
            if fail == "value":
                yield "secret"  # type: ignore[misc]
            if fail == "known":
                raise NotFound("no more.")
            if fail:
                raise ValueError("secret")
        finally:
            self.steps.append("closed")

    @endpoint
    def steps_of(self, to: int) -> Iterator[int]:
        try:
            yield from range(to)
        finally:
            self.steps.append(f"closed in {threading.current_thread().name[:8]}")

    @endpoint(timeout_s=TIMEOUT_S)
    async def stalls(self) -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            self.steps.append("closed")

    @endpoint(timeout_s=TIMEOUT_S)
    def sticks(self) -> Iterator[int]:
        try:
            yield 1
            self.gate.wait()
            yield 2
        finally:
            self.steps.append("closed")


@pytest.fixture
def kinds() -> Iterator[Kinds]:
    kinds = Kinds()
    yield kinds
    kinds.gate.set()


def stack(
    instance: Kinds,
    *,
    threads: EndpointThreads | None = None,
    patient: bool = False,
    keep_alive_s: float = 60.0,
    **limits: Any,
) -> ASGIApp:
    endpoints = endpoints_of(type(instance))
    if patient:
        endpoints = {name: replace(each, timeout_s=None) for name, each in endpoints.items()}
    document = write_document(endpoints, title="Kinds", doc="", version="1", path="/r/fam/suf/run")
    calls = EndpointCalls(instance, threads or EndpointThreads(4))
    app = EndpointApp(calls, endpoints, document, ReplicaLimits(**limits), keep_alive_s=keep_alive_s)

    async def close() -> None:
        return

    return build_stack(app, close=close)


def post(call: Any, app: ASGIApp, path: str, **arguments: Any) -> Any:
    return asyncio.run(call(app, "POST", path, json.dumps(arguments).encode()))


def lines(answer: Any) -> list[Any]:
    return [json.loads(line) for line in answer.body.split(b"\n")[:-1]]


def test_results_are_plain_json_and_defaults_are_the_methods(call: Any, kinds: Kinds) -> None:
    app = stack(kinds)
    answer = post(call, app, "/greet", name="Ada")
    assert (answer.status, answer.json, answer.headers["content-type"]) == (200, "hi Ada", "application/json")
    assert post(call, app, "/greet", name="Ada", times=2).json == "hi Adahi Ada"


def test_plain_methods_run_in_threads_and_know_their_request(call: Any, kinds: Kinds) -> None:
    app = stack(kinds)
    post(call, app, "/greet", name="Ada")
    assert kinds.steps[0].startswith("endpoint")
    for path in ("/whoami", "/thread_id"):
        answer = asyncio.run(
            call(app, "POST", path, b"", content_type=None, headers=[(b"x-request-id", b"r-1")])
        )
        assert answer.json == "r-1"


def test_bad_missing_and_unknown_arguments_are_told_in_the_envelope(call: Any, kinds: Kinds) -> None:
    answer = post(call, stack(kinds), "/greet", nam="Ada", times="x")
    assert answer.status == 422
    error = answer.json["error"]
    assert (error["code"], [issue["loc"] for issue in error["issues"]]) == (
        "validation_error",
        [["name"], ["times"], ["nam"]],
    )
    assert kinds.steps == []


@pytest.mark.parametrize(
    ("method", "path", "content_type", "body", "status"),
    [
        ("POST", "/greet", "application/json", b"{", 400),
        ("POST", "/greet", "text/plain", b'{"name": "a"}', 415),
        ("POST", "/greet", None, b'{"name": "a"}', 415),
        ("GET", "/greet", None, b"", 405),
        ("POST", "/openapi.json", None, b"", 405),
        ("POST", "/nothing", "application/json", b"{}", 404),
        ("POST", "/__init__", "application/json", b"{}", 404),
        ("POST", "/greet/", "application/json", b"{}", 404),
        ("POST", "//greet", "application/json", b"{}", 404),
        ("POST", "/", "application/json", b"{}", 404),
        ("POST", "/greet", "application/json", b'{"name": "' + b"x" * 100 + b'"}', 413),
    ],
)
def test_what_is_no_call_is_refused(
    call: Any, kinds: Kinds, method: str, path: str, content_type: str | None, body: bytes, status: int
) -> None:
    app = stack(kinds, max_body_bytes=64)
    answer = asyncio.run(call(app, method, path, body, content_type=content_type))
    assert (answer.status, kinds.steps) == (status, [])
    assert answer.json["error"]["requestId"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("value", "The model's code raised ValueError."),
        ("exit", "The model's code raised SystemExit."),
        ("stop", "The model's code raised StopIteration."),
        (
            "result",
            "'fails' returned a value that is not what its annotation says: Input should be a valid integer, "
            "unable to parse string as an integer.",
        ),
    ],
)
def test_what_a_method_raises_is_in_the_log_only(
    call: Any, kinds: Kinds, caplog: pytest.LogCaptureFixture, how: str, message: str
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = post(call, stack(kinds), "/fails", how=how)
    assert (answer.status, answer.json["error"]["code"]) == (500, "model_error")
    assert answer.json["error"]["message"] == message
    assert b"secret" not in answer.body
    assert "'fails'" in caplog.text


def test_errors_of_roost_reach_the_caller_as_they_are(call: Any, kinds: Kinds) -> None:
    answer = post(call, stack(kinds), "/fails", how="known")
    assert (answer.status, answer.json["error"]["message"]) == (404, "no such word 'x'.")


@pytest.mark.parametrize("path", ["/hangs", "/holds"])
def test_a_call_over_its_time_is_answered(call: Any, kinds: Kinds, path: str) -> None:
    answer = post(call, stack(kinds), path)
    assert (answer.status, answer.json["error"]["code"]) == (504, "timeout")
    assert f"{path[1:]!r} did not answer within 0.05 s" in answer.json["error"]["message"]


def test_a_replica_whose_threads_are_all_held_is_to_be_replaced(call: Any, kinds: Kinds) -> None:
    threads = EndpointThreads(1)
    app = stack(kinds, threads=threads)
    threads.check()
    post(call, app, "/holds")
    with pytest.raises(Unavailable, match="All 1 threads are held"):
        threads.check()
    kinds.gate.set()
    assert post(call, app, "/greet", name="a").json == "hi a"
    threads.check()


def test_streams_are_a_line_an_item_as_they_come(call: Any, kinds: Kinds) -> None:
    answer = post(call, stack(kinds), "/count", to=2)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert [message["body"] for message in answer.messages[1:]] == [
        b'{"item":0}\n',
        b'{"item":1}\n',
        b'{"end":{"items":2}}\n',
    ]
    assert kinds.steps == ["closed"]
    assert lines(post(call, stack(kinds), "/count", to=0)) == [{"end": {"items": 0}}]


def test_a_stream_that_waits_is_kept_alive(call: Any, kinds: Kinds) -> None:
    """A proxy that writes nothing for its caller does not learn that it has left."""
    answer = post(call, stack(kinds, keep_alive_s=TIMEOUT_S / 50), "/stalls")
    bodies = [message["body"] for message in answer.messages[1:]]
    assert (bodies[0], set(bodies[1:-1])) == (b'{"item":1}\n', {b"\n"})
    assert b'"timeout"' in bodies[-1]


def test_plain_generators_stream_from_threads(call: Any, kinds: Kinds) -> None:
    threads = EndpointThreads(1)
    app = stack(kinds, threads=threads)
    assert lines(post(call, app, "/steps_of", to=2)) == [
        {"item": 0},
        {"item": 1},
        {"end": {"items": 2}},
    ]
    assert kinds.steps == ["closed in endpoint"]


def test_an_error_before_the_first_item_has_a_status_of_its_own(call: Any, kinds: Kinds) -> None:
    app = stack(kinds)
    assert post(call, app, "/count", to=0, fail="value").status == 500
    assert post(call, app, "/count", to=0, fail="known").status == 404
    assert post(call, app, "/count", to=0, fail="error").json["error"]["code"] == "model_error"
    assert post(call, app, "/count").status == 422


@pytest.mark.parametrize(
    ("fail", "code"), [("known", "not_found"), ("error", "model_error"), ("value", "model_error")]
)
def test_an_error_after_an_item_is_the_last_line(call: Any, kinds: Kinds, fail: str, code: str) -> None:
    answer = post(call, stack(kinds), "/count", to=1, fail=fail)
    first, last = lines(answer)
    assert (answer.status, first, last["error"]["code"]) == (200, {"item": 0}, code)
    assert last["error"]["requestId"] == answer.headers["x-request-id"]
    assert b"secret" not in answer.body
    assert kinds.steps == ["closed"]


@pytest.mark.parametrize("path", ["/stalls", "/sticks"])
def test_a_stream_whose_next_item_takes_too_long_ends_in_an_error(call: Any, kinds: Kinds, path: str) -> None:
    first, last = lines(post(call, stack(kinds), path))
    assert (first, last["error"]["code"]) == ({"item": 1}, "timeout")


@pytest.mark.parametrize("path", ["/stalls", "/sticks"])
def test_the_generator_is_closed_when_its_caller_leaves(kinds: Kinds, path: str) -> None:
    """Also where it waits for something at that moment; a thread closes it when it comes out."""

    async def run() -> None:
        threads = EndpointThreads(1)
        leave = asyncio.Event()
        requests = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Message:
            for message in requests:
                return message
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message.get("body"):
                leave.set()

        scope = {"type": "http", "method": "POST", "path": path, "root_path": "", "headers": []}
        await stack(kinds, threads=threads, patient=True)(scope, receive, send)
        kinds.gate.set()
        await threads.run(list)  # the one thread has come out

    asyncio.run(run())
    assert kinds.steps == ["closed"]


def test_the_description_is_at_hand(call: Any, kinds: Kinds) -> None:
    answer = asyncio.run(call(stack(kinds), "GET", "/openapi.json"))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert list(answer.json["paths"]) == [f"/{name}" for name in endpoints_of(Kinds)]
