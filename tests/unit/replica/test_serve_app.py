"""Serve-apps whose routes are methods: each test makes its own app, since binding happens once."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request, WebSocket
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response

import roost.serve
from roost.asgi.types import ASGIApp, Message, Receive, Scope, Send
from roost.errors import NotFound
from roost.replica.serve_app import build_serve_app
from roost.replica.stack import WithState, build_stack


async def nothing() -> None:
    return


def stack(instance: object) -> ASGIApp:
    return build_stack(build_serve_app(instance), close=nothing)


class Item(BaseModel):
    name: str
    price: float = 1.0


def user(x_user: Annotated[str, Header()] = "nobody") -> str:
    return x_user


User = Annotated[str, Depends(user)]


def make() -> Any:
    """An instance of a class with routes of every kind."""
    app = FastAPI(title="kinds")
    router = APIRouter(prefix="/sub", tags=["sub"])
    inner = APIRouter()
    mounted = FastAPI()

    class Kinds:
        def __init__(self, greeting: str) -> None:
            self.greeting = greeting
            self.threads: set[int] = set()

        @app.get("/sync")
        def sync(self, name: str, times: int = 1) -> str:
            self.threads.add(threading.get_ident())
            return f"{self.greeting} {name}" * times

        @app.get("/async")
        async def asynchronous(self) -> int:
            self.threads.add(threading.get_ident())
            return threading.get_ident()

        @app.post("/items/{place}", status_code=201, response_model=Item, summary="Keeps an item")
        async def keep(self, place: str, item: Item, who: User) -> dict[str, Any]:
            return {"name": f"{self.greeting} {place} {item.name} {who}", "price": item.price, "hidden": 1}

        @app.get("/raw", response_class=PlainTextResponse)
        def raw(self, request: Request) -> str:
            return f"{request.url.path} {request.scope['root_path']}"

        @app.get("/stream")
        async def stream(self) -> StreamingResponse:
            async def numbers() -> AsyncIterator[str]:
                for number in range(3):
                    yield f"{self.greeting}{number}\n"

            return StreamingResponse(numbers(), media_type="text/plain")

        @app.get("/lines")
        def lines(self) -> Iterator[Item]:
            yield Item(name=self.greeting)
            yield Item(name="two", price=2)

        @app.websocket("/ws")
        async def ws(self, socket: WebSocket, times: int = 1) -> None:
            await socket.accept()
            await socket.send_text(f"{self.greeting} " * times + await socket.receive_text())
            await socket.close()

        @router.get("/one")
        def one(self) -> str:
            return f"{self.greeting} one"

        @inner.get("/two")
        def two(self) -> str:
            return f"{self.greeting} two"

        @mounted.get("/three")
        def three(self) -> str:
            return f"{self.greeting} three"

        @app.get("/static")
        @staticmethod
        def static(number: int) -> int:
            return number

        @app.get("/missing")
        def missing(self) -> None:
            raise HTTPException(404, "not here")

        @app.get("/ours")
        def ours(self) -> None:
            raise NotFound("no such word 'x'.", hint="Ask for another.")

        @app.get("/fails")
        def fails(self) -> None:
            raise ValueError("secret")

    @app.get("/plain")
    def plain(word: str) -> str:
        return word

    router.include_router(inner, prefix="/deep")
    app.include_router(router, prefix="/v1", dependencies=[Depends(user)])
    app.mount("/mounted", mounted)
    return roost.serve.ingress(app)(Kinds)("hi")


@pytest.fixture
def kinds() -> Any:
    return make()


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/v1/sub/one", "hi one"),
        ("/v1/sub/deep/two", "hi two"),
        ("/mounted/three", "hi three"),
    ],
)
def test_sub_routers_and_mounts_get_the_instance(call: Any, kinds: Any, path: str, answer: str) -> None:
    assert asyncio.run(call(stack(kinds), "GET", path)).json == answer


async def get(call: Any, app: ASGIApp, path: str, query: bytes = b"") -> Any:
    async def with_query(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "query_string": query}, receive, send)

    return await call(with_query, "GET", path)


def test_parameters_are_read_as_without_self(call: Any, kinds: Any) -> None:
    app = stack(kinds)
    assert asyncio.run(get(call, app, "/sync", b"name=you&times=2")).json == "hi youhi you"
    assert asyncio.run(get(call, app, "/plain", b"word=w")).json == "w"
    assert asyncio.run(get(call, app, "/static", b"number=4")).json == 4
    refused = asyncio.run(get(call, app, "/sync")).json
    assert [detail["loc"] for detail in refused["detail"]] == [["query", "name"]]


def test_sync_methods_run_in_threads_and_async_ones_in_the_loop(call: Any, kinds: Any) -> None:
    app = stack(kinds)
    assert asyncio.run(call(app, "GET", "/async")).json == threading.get_ident()
    asyncio.run(get(call, app, "/sync", b"name=x"))
    assert len(kinds.threads) == 2


def test_bodies_dependencies_and_response_models_work(call: Any, kinds: Any) -> None:
    answer = asyncio.run(
        call(stack(kinds), "POST", "/items/shelf", b'{"name": "cup"}', headers=[(b"x-user", b"ann")])
    )
    assert (answer.status, answer.json) == (201, {"name": "hi shelf cup ann", "price": 1.0})
    refused = asyncio.run(call(stack(make()), "POST", "/items/shelf", b'{"price": "x"}'))
    assert refused.status == 422


def test_paths_are_relative_to_the_mount(call: Any, kinds: Any) -> None:
    app = stack(kinds)
    assert asyncio.run(call(app, "GET", "/raw")).body == b"/r/fam/suf/run/raw /r/fam/suf/run"
    assert asyncio.run(call(app, "GET", "/raw", root_path="")).body == b"/raw "


def test_streams_are_sent_piece_by_piece(call: Any, kinds: Any) -> None:
    app = stack(kinds)
    answer = asyncio.run(call(app, "GET", "/stream"))
    assert [message["body"] for message in answer.messages[1:]] == [b"hi0\n", b"hi1\n", b"hi2\n", b""]
    lines = asyncio.run(call(app, "GET", "/lines"))
    assert lines.body.splitlines() == [b'{"name":"hi","price":1.0}', b'{"name":"two","price":2.0}']


def test_websockets_get_the_instance(kinds: Any) -> None:
    async def talk() -> list[Message]:
        sent: list[Message] = []
        to_app: Iterator[Message] = iter(
            [
                {"type": "websocket.connect"},
                {"type": "websocket.receive", "text": "you"},
                {"type": "websocket.disconnect", "code": 1000},
            ]
        )

        async def receive() -> Message:
            return next(to_app)

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "websocket",
            "path": "/r/a/ws",
            "root_path": "/r/a",
            "query_string": b"times=2",
            "headers": [],
        }
        await stack(kinds)(scope, receive, send)
        return sent

    sent = asyncio.run(talk())
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert sent[1]["text"] == "hi hi you"


def test_the_documentation_shows_no_self(call: Any, kinds: Any) -> None:
    app = stack(kinds)
    schema = asyncio.run(call(app, "GET", "/openapi.json")).json
    parameters = {
        (path, parameter["name"])
        for path, operations in schema["paths"].items()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
    }
    assert {("/sync", "name"), ("/sync", "times"), ("/static", "number")} <= parameters
    assert "self" not in {name for _, name in parameters}
    assert {"/sync", "/v1/sub/one", "/v1/sub/deep/two", "/items/{place}"} <= set(schema["paths"])
    assert schema["paths"]["/items/{place}"]["post"]["summary"] == "Keeps an item"
    assert schema["servers"] == [{"url": "/r/fam/suf/run"}]
    page = asyncio.run(call(app, "GET", "/docs"))
    assert (page.status, b"/r/fam/suf/run/openapi.json" in page.body) == (200, True)


def test_what_the_app_answers_goes_out_as_it_is(call: Any, kinds: Any) -> None:
    app = stack(kinds)
    answer = asyncio.run(call(app, "GET", "/missing"))
    assert (answer.status, answer.json) == (404, {"detail": "not here"})
    assert asyncio.run(call(app, "GET", "/nowhere")).json == {"detail": "Not Found"}


def test_what_escapes_from_it_is_told_in_the_envelope(
    call: Any, kinds: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = stack(kinds)
    ours = asyncio.run(call(app, "GET", "/ours"))
    assert (ours.status, ours.json["error"]["message"]) == (404, "no such word 'x'.")
    with caplog.at_level(logging.ERROR):
        fails = asyncio.run(call(app, "GET", "/fails", headers=[(b"x-request-id", b"id-7")]))
    assert (fails.status, fails.json["error"]["code"]) == (500, "model_error")
    assert fails.json["error"]["message"] == "The model's code raised ValueError."
    assert (fails.json["error"]["requestId"], fails.headers["x-request-id"]) == ("id-7", "id-7")
    assert b"secret" not in fails.body
    assert "secret" in caplog.text
    assert "id-7" in caplog.text


def test_the_apps_own_handlers_come_first(call: Any) -> None:
    app = FastAPI()

    @app.exception_handler(Exception)
    async def handle(_request: Request, _error: Exception) -> Response:
        return PlainTextResponse("mine", 418)

    @roost.serve.ingress(app)
    class Handled:
        @app.get("/")
        def fail(self) -> None:
            raise ValueError

    assert asyncio.run(call(stack(Handled()), "GET", "/")).status == 418


def test_any_other_asgi_app_is_passed_through(call: Any) -> None:
    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["state"]["from_lifespan"]})

    @roost.serve.ingress(app)
    class Passed:
        pass

    served = build_stack(WithState(build_serve_app(Passed()), {"from_lifespan": b"x"}), close=nothing)
    assert asyncio.run(call(served, "GET", "/")).body == b"x"
