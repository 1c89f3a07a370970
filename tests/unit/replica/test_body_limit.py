from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from starlette.responses import PlainTextResponse

from roost.asgi.body_limit import BodyLimit
from roost.asgi.types import ASGIApp
from roost.errors import PayloadTooLarge
from roost.replica.stack import build_stack

made = FastAPI()


@made.post("/parsed")
def parsed(body: dict[str, str]) -> int:
    return len(body)


@made.post("/raw")
async def raw(request: Request) -> int:
    return len(await request.body())


@made.post("/swallowed")
async def swallowed(request: Request) -> PlainTextResponse:
    try:
        await request.body()
    except Exception:
        return PlainTextResponse("all is well")
    return PlainTextResponse("read")


@made.post("/streamed")
async def streamed(request: Request) -> StreamingResponse:
    async def echo() -> AsyncIterator[bytes]:
        async for chunk in request.stream():
            yield chunk

    return StreamingResponse(echo())


async def nothing() -> None:
    return


@pytest.fixture
def app() -> ASGIApp:
    return build_stack(BodyLimit(made, 100), close=nothing)


@pytest.mark.parametrize("path", ["/parsed", "/raw", "/swallowed"])
@pytest.mark.parametrize("body", [b"x" * 101, [b"x" * 60, b"x" * 60, b""]])
def test_a_body_over_the_limit_is_413_whatever_the_app_does(
    call: Any, app: ASGIApp, path: str, body: Any
) -> None:
    answer = asyncio.run(call(app, "POST", path, body))
    assert (answer.status, answer.json["error"]["code"]) == (413, "payload_too_large")
    assert len([message for message in answer.messages if message["type"] == "http.response.start"]) == 1


def test_a_body_at_the_limit_passes(call: Any, app: ASGIApp) -> None:
    answer = asyncio.run(call(app, "POST", "/raw", [b"x" * 60, b"x" * 40]))
    assert (answer.status, answer.json) == (200, 100)


def test_an_answer_that_has_begun_is_cut(call: Any, app: ASGIApp) -> None:
    with pytest.raises(PayloadTooLarge, match="over the limit of 100 bytes"):
        asyncio.run(call(app, "POST", "/streamed", [b"x" * 60, b"x" * 60]))


def test_no_limit_lets_everything_pass(call: Any) -> None:
    app = build_stack(BodyLimit(made, 0), close=nothing)
    assert asyncio.run(call(app, "POST", "/raw", b"x" * 1000)).json == 1000
