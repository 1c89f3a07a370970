from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.asgi.types import Receive, Scope, Send
from roost.replica.id_echo import WithoutEchoedId
from roost.replica.stack import build_stack


async def hello(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-other", b"1")]})
    await send({"type": "http.response.body", "body": b"hello"})


async def nothing() -> None:
    return


@pytest.mark.parametrize(("sent", "repeated"), [(b"clean-1", False), (b"a b\xff", True), (b"x" * 200, True)])
def test_only_an_id_that_was_replaced_is_sent(call: Any, sent: bytes, repeated: bool) -> None:
    app = WithoutEchoedId(build_stack(hello, close=nothing))
    answer = asyncio.run(call(app, "GET", "/", headers=[(b"x-request-id", sent)]))
    assert ("x-request-id" in answer.headers) is repeated
    assert answer.headers["x-other"] == "1"
    assert answer.body == b"hello"
