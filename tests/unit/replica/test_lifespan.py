from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI

from roost.asgi.types import Receive, Scope, Send
from roost.replica.lifespan import Lifespan, LifespanFailed


async def start_and_stop(app: Any) -> dict[str, Any]:
    lifespan = Lifespan(app)
    await lifespan.start()
    await lifespan.stop()
    return lifespan.state


def test_start_and_stop_run_around_each_other() -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def around(_app: FastAPI) -> AsyncIterator[dict[str, int]]:
        steps.append("up")
        yield {"answer": 42}
        steps.append("down")

    assert asyncio.run(start_and_stop(FastAPI(lifespan=around))) == {"answer": 42}
    assert steps == ["up", "down"]


def test_what_the_start_raises_comes_out_as_it_is() -> None:
    @asynccontextmanager
    async def around(app: FastAPI) -> AsyncIterator[None]:
        if app.title:
            raise LookupError("no table 'words'")
        yield

    with pytest.raises(LookupError, match="no table 'words'"):
        asyncio.run(start_and_stop(FastAPI(lifespan=around)))


def test_what_the_stop_raises_comes_out_as_it_is() -> None:
    @asynccontextmanager
    async def around(_app: FastAPI) -> AsyncIterator[None]:
        yield
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        asyncio.run(start_and_stop(FastAPI(lifespan=around)))


def test_a_failure_that_is_only_reported_is_raised() -> None:
    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no disk"})

    with pytest.raises(LifespanFailed, match="no disk"):
        asyncio.run(start_and_stop(app))


def test_an_app_that_knows_no_lifespan_is_fine() -> None:
    async def refuses(scope: Scope, _receive: Receive, _send: Send) -> None:
        assert scope["type"] == "http", "only http"

    async def ignores(_scope: Scope, _receive: Receive, _send: Send) -> None:
        return

    assert asyncio.run(start_and_stop(refuses)) == {}
    assert asyncio.run(start_and_stop(ignores)) == {}
