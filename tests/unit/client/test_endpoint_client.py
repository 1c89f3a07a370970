"""The clients of endpoints against the app of a replica, in memory."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_type

import httpx2
import pytest

import roost
from roost.asgi.types import ASGIApp
from roost.client import deployment as client_deployment
from roost.client.endpoint_async_client import AsyncEndpointClient
from roost.client.endpoint_client import EndpointClient
from roost.client.transport import AsyncTransport, SyncTransport, Target
from roost.contracts.endpoint_document import write_document
from roost.contracts.endpoint_methods import endpoints_of
from roost.contracts.replica import ReplicaLimits
from roost.errors import (
    BadRequest,
    InternalError,
    InvalidServable,
    ModelError,
    NotFound,
    Unavailable,
    ValidationFailed,
)
from roost.replica.endpoint_app import EndpointApp
from roost.replica.endpoint_calls import EndpointCalls
from roost.replica.endpoint_threads import EndpointThreads
from roost.replica.stack import build_stack
from roost.serve import endpoint

URL = "http://serve.test/r/greeter/test/run"
BREAKS = "a\u2028b\u2029c\x85d\re\x1cf\ng"


@dataclass
class Greeting:
    text: str
    count: int = 1


class Greeter:
    """Plain methods: `client(Greeter)` has their very types."""

    @endpoint
    def greet(self, name: str, times: int = 1, *, loud: bool = False) -> Greeting:
        """Greets."""
        return Greeting(f"hi {name}" + "!" * loud, times)

    @endpoint
    def fail(self, known: bool = False) -> None:
        raise NotFound("no such name.") if known else KeyError("secret")

    @endpoint
    def count(self, to: int, fail: bool = False) -> Iterator[Greeting]:
        for number in range(to):
            yield Greeting(BREAKS, number)
        if fail:
            raise KeyError("secret")

    def helper(self) -> None:
        """No endpoint."""


class AsyncGreeter:
    """The same, asynchronous: `async_client(AsyncGreeter)` has their very types."""

    @endpoint
    async def greet(self, name: str, times: int = 1, *, loud: bool = False) -> Greeting:
        return Greeting(f"hi {name}" + "!" * loud, times)

    @endpoint
    async def count(self, to: int) -> AsyncIterator[Greeting]:
        for number in range(to):
            yield Greeting(BREAKS, number)


def replica(instance: object) -> ASGIApp:
    endpoints = endpoints_of(type(instance))
    document = write_document(endpoints, title="", doc="", version="", path="")
    app = EndpointApp(EndpointCalls(instance, EndpointThreads(2)), endpoints, document, ReplicaLimits())

    async def close() -> None:
        return

    return build_stack(app, close=close)


class Memory(httpx2.BaseTransport):
    """Answers from an app; keeps what was asked."""

    def __init__(self, app: ASGIApp) -> None:
        self.requests: list[httpx2.Request] = []
        self._inner = httpx2.ASGITransport(app=app, root_path="/r/greeter/test/run")

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        request.read()
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        copy = httpx2.Request(request.method, request.url, headers=request.headers, content=request.content)
        answer = await self._inner.handle_async_request(copy)
        return httpx2.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


Deploy = Callable[..., roost.Deployment]


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Deploy:
    """A deployment of an instance, whose clients reach it in memory."""

    def deploy(instance: object = None, *, transport: Any = None) -> roost.Deployment:
        app = replica(instance or Greeter())
        memory = transport or Memory(app)
        monkeypatch.setattr(
            client_deployment, "_shared_transport", lambda url, key: SyncTransport(Target(url, key), memory)
        )
        inner = httpx2.ASGITransport(app=app, root_path="/r/greeter/test/run")
        monkeypatch.setattr(client_deployment, "AsyncTransport", partial(AsyncTransport, transport=inner))
        return roost.Deployment(
            family="greeter", suffix="test", run_name="run", name="greeter", url=URL, phase="running"
        )

    return deploy


def test_a_client_of_the_class_has_its_methods_types_and_results(deployed: Deploy) -> None:
    client = deployed().client(Greeter)
    assert_type(client, Greeter)
    greeting = client.greet("Ada", 2, loud=True)
    assert_type(greeting, Greeting)
    assert greeting == Greeting("hi Ada!", 2)
    items = client.count(2)
    assert_type(items, Iterator[Greeting])
    assert list(items) == [Greeting(BREAKS, 0), Greeting(BREAKS, 1)]


def test_a_client_without_the_class_learns_of_it(deployed: Deploy) -> None:
    client = deployed().client()
    assert_type(client, EndpointClient)
    assert client.greet("Ada", loud=True) == {"text": "hi Ada!", "count": 1}
    assert [item["count"] for item in client.count(to=3)] == [0, 1, 2]
    assert {"greet", "fail", "count"} <= set(dir(client))
    assert (client.greet.__name__, client.greet.__doc__) == ("greet", "Greets.")
    assert list(inspect.signature(client.greet).parameters) == ["name", "times", "loud"]


def test_an_async_client_of_the_class(deployed: Deploy) -> None:
    async def run() -> list[Greeting]:
        async with deployed(AsyncGreeter()).async_client(AsyncGreeter) as client:
            assert_type(client, AsyncGreeter)
            greeting = await client.greet("Ada", times=3)
            assert_type(greeting, Greeting)
            items = client.count(1)
            assert_type(items, AsyncIterator[Greeting])
            return [greeting, *[item async for item in items]]

    assert asyncio.run(run()) == [Greeting("hi Ada", 3), Greeting(BREAKS, 0)]


def test_an_async_client_without_the_class(deployed: Deploy) -> None:
    async def run() -> list[Any]:
        async with deployed().async_client() as client:
            assert_type(client, AsyncEndpointClient)
            with pytest.raises(ValidationFailed, match="'nam': there is no such argument"):
                client.greet(nam="Ada")
            with pytest.raises(ModelError, match="raised KeyError"):
                await client.fail()
            return [await client.greet("Ada"), *[item["count"] async for item in client.count(2)]]

    assert asyncio.run(run()) == [{"text": "hi Ada", "count": 1}, 0, 1]


def test_every_kind_of_method_can_be_called_either_way(deployed: Deploy) -> None:
    client: Any = deployed(AsyncGreeter()).client(AsyncGreeter)
    assert client.greet("Ada") == Greeting("hi Ada", 1)
    assert list(client.count(1)) == [Greeting(BREAKS, 0)]


def test_a_call_that_does_not_fit_is_not_sent(deployed: Deploy) -> None:
    memory = Memory(replica(Greeter()))
    client: Any = deployed(transport=memory).client(Greeter)
    with pytest.raises(ValidationFailed, match="'x': there is no such argument; 'name': it is missing"):
        client.greet(x=1)
    with pytest.raises(ValidationFailed, match="it is missing"):
        client.count()
    assert memory.requests == []
    with pytest.raises(ValidationFailed, match="'name': Input should be a valid string"):
        client.greet(3)
    assert [request.url.path for request in memory.requests] == ["/r/greeter/test/run/greet"]


def test_errors_are_those_of_the_replica(deployed: Deploy) -> None:
    client = deployed().client(Greeter)
    with pytest.raises(NotFound, match="no such name"):
        client.fail(known=True)
    with pytest.raises(ModelError, match="raised KeyError") as caught:
        client.fail()
    assert caught.value.request_id
    items = client.count(1, fail=True)
    assert next(items) == Greeting(BREAKS, 0)
    with pytest.raises(ModelError, match="raised KeyError") as caught:
        next(items)
    assert caught.value.request_id
    with pytest.raises(ValidationFailed):
        list(client.count("x"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["helper", "nothing", "close"])
def test_what_is_no_endpoint_is_no_attribute(deployed: Deploy, name: str) -> None:
    deployment = deployed()
    for client in (deployment.client(), deployment.client(Greeter)):
        with pytest.raises(AttributeError, match=f"There is no endpoint '{name}'; there are 'greet', 'fail'"):
            getattr(client, name)
        assert not hasattr(client, "_repr_html_")


def test_a_class_without_good_endpoints_is_refused(deployed: Deploy) -> None:
    class Bad:
        @endpoint
        def bad(self, one):  # type: ignore[no-untyped-def]
            return one

    with pytest.raises(InvalidServable, match="without a type"):
        deployed().client(Bad)


@pytest.mark.parametrize(
    ("servable", "message"),
    [("Stories", "'Stories' is not a class."), (int, "builtins.int has no endpoint.")],
)
def test_what_has_no_endpoints_is_refused(deployed: Deploy, servable: Any, message: str) -> None:
    async def enter() -> None:
        async with deployed().async_client(servable):
            pass

    for make in (lambda: deployed().client(servable), lambda: asyncio.run(enter())):
        with pytest.raises(InvalidServable) as caught:
            make()
        assert caught.value.message == message


@pytest.mark.parametrize("timeout_s", ["x", 0, True, float("inf")])
def test_a_timeout_that_is_no_number_of_seconds(deployed: Deploy, timeout_s: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        deployed().client(Greeter, timeout_s=timeout_s)
    assert caught.value.message == (
        f"timeout_s={timeout_s!r} is not valid: it must be a positive number of seconds."
    )


@pytest.mark.parametrize("answer", [httpx2.Response(200, content=b'{"openapi": "3.1.0", "paths": {}}')])
def test_a_deployment_without_endpoints_says_so(deployed: Deploy, answer: httpx2.Response) -> None:
    with pytest.raises(BadRequest, match="has no endpoints"):
        deployed(transport=httpx2.MockTransport(lambda _: answer)).client()


def test_the_key_is_sent(deployed: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_API_KEY", "k1")
    memory = Memory(replica(Greeter()))
    deployed(transport=memory).client(Greeter).greet("Ada")
    assert memory.requests[0].headers["X-API-Key"] == "k1"


class Turns:
    """Answers with what it is given, in turn."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, _request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


STREAM = httpx2.Response(200, content=b'{"item":{"text":"a"}}\n{"end":{"items":1}}\n')
BUSY = httpx2.Response(503, headers={"Retry-After": "0"}, content=b"{}")


@pytest.mark.parametrize("first", [httpx2.ConnectError("refused"), BUSY])
def test_a_stream_that_was_not_begun_is_asked_for_again(
    deployed: Deploy, first: httpx2.Response | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _s: None)
    turns = Turns(first, STREAM)
    items = deployed(transport=httpx2.MockTransport(turns)).client(Greeter).count(1)
    assert (list(items), turns.asked) == ([Greeting("a")], 2)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (httpx2.ReadError("cut"), Unavailable),
        (httpx2.Response(502, content=b"<html>"), Unavailable),
        (httpx2.Response(200, content=b'{"item":{"text":"a"}}\n'), Unavailable),
        (httpx2.Response(200, content=b'{"item":{"text":"a"}}\n{"item":{"te'), Unavailable),
        (httpx2.Response(200, content=b'{"item":{"text":1}}\n{"end":{"items":1}}\n'), InternalError),
        (httpx2.Response(200, content=b'["a"]'), Unavailable),
        (httpx2.Response(200, content=b'["a"]\n'), InternalError),
    ],
)
def test_a_stream_that_fails_is_an_error_and_is_not_asked_for_again(
    deployed: Deploy, answer: httpx2.Response | Exception, expected: type[roost.RoostError]
) -> None:
    turns = Turns(answer, STREAM)
    with pytest.raises(expected):
        list(deployed(transport=httpx2.MockTransport(turns)).client(Greeter).count(1))
    assert turns.asked == 1
