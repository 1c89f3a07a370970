from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from roost.replica.class_routes import bind_routes


def test_inherited_methods_are_bound_and_overrides_win(call: Any) -> None:
    app = FastAPI()

    class Base:
        word = "base"

        @app.get("/kept")
        def kept(self) -> str:
            return self.word

        @app.get("/changed")
        def changed(self) -> str:
            return "base"

    class Derived(Base):
        word = "derived"

        def changed(self) -> str:
            return "derived"

    bind_routes(app, Derived())
    assert asyncio.run(call(app, "GET", "/kept")).json == "derived"
    assert asyncio.run(call(app, "GET", "/changed")).json == "derived"


def test_routes_of_starlette_get_the_instance(call: Any) -> None:
    class Plain:
        word = "hi"

        async def hello(self, request: Request) -> Response:
            return PlainTextResponse(f"{self.word} {request.path_params['name']}")

    app = Starlette(routes=[Mount("/in", routes=[Route("/{name}", Plain.hello)])])
    bind_routes(app, Plain())
    assert asyncio.run(call(app, "GET", "/in/you")).body == b"hi you"


def test_routes_of_another_class_are_left_alone(call: Any) -> None:
    app = FastAPI()

    class Other:
        @app.get("/other")
        def hello(self) -> str:
            return str(self)

    class Mine:
        @app.get("/mine")
        def hello(self) -> str:
            return "mine"

    bind_routes(app, Mine())
    assert asyncio.run(call(app, "GET", "/mine")).json == "mine"
    assert asyncio.run(call(app, "GET", "/other")).status == 422


def test_binding_again_keeps_the_first_instance(call: Any) -> None:
    app = FastAPI()

    class Counter:
        def __init__(self, number: int) -> None:
            self.number = number

        @app.get("/")
        def count(self) -> int:
            return self.number

    bind_routes(app, Counter(1))
    bind_routes(app, Counter(2))
    assert asyncio.run(call(app, "GET", "/")).json == 1
