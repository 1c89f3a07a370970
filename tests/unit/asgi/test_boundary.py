"""What a caller sees of each way in which an app can end."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any

import pytest

from roost.asgi.body import ClientGone
from roost.asgi.boundary import ErrorBoundary
from roost.asgi.request_id import current_request_id
from roost.asgi.types import Message, Receive, Scope, Send
from roost.errors import InternalError, ModelNotDeployed, Unavailable


def run(app: Any, headers: list[tuple[bytes, bytes]] | None = None) -> tuple[list[Message], Scope]:
    """One request through the boundary: the messages sent, and the scope the app saw."""
    sent: list[Message] = []
    scope: Scope = {"type": "http", "method": "POST", "path": "/x", "headers": headers or []}

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(ErrorBoundary(app, "roost.test")(scope, receive, send))
    return sent, scope


def head(sent: list[Message]) -> dict[bytes, bytes]:
    return dict(sent[0]["headers"])


async def ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-request-id", b"other")]})
    await send({"type": "http.response.body", "body": current_request_id().encode()})


def test_the_callers_id_is_kept_and_replaces_any_other() -> None:
    sent, scope = run(ok, [(b"x-request-id", b"abc.1-2_3")])
    assert sent[0]["headers"] == [(b"x-request-id", b"abc.1-2_3")]
    assert sent[1]["body"] == b"abc.1-2_3"
    assert scope["state"]["request_id"] == "abc.1-2_3"
    assert current_request_id() == ""


@pytest.mark.parametrize(
    "raw", [b"", b"a b", b"a\r\nset-cookie: x", b"x" * 129, b"\xff", "ä".encode(), b"abc\n"]
)
def test_an_unclean_id_is_replaced(raw: bytes) -> None:
    sent, _ = run(ok, [(b"x-request-id", raw)])
    assert re.fullmatch(rb"[0-9a-f]{32}", head(sent)[b"x-request-id"])


def test_a_roost_error_is_sent_in_the_envelope() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ModelNotDeployed("model 'a' is not deployed.", hint="Deploy it.", context={"secret": "s3"})

    sent, _ = run(app, [(b"x-request-id", b"id1")])
    assert sent[0]["status"] == 404
    assert json.loads(sent[1]["body"]) == {
        "error": {
            "code": "not_found",
            "reason": "model_not_deployed",
            "message": "model 'a' is not deployed.",
            "requestId": "id1",
            "hint": "Deploy it.",
        }
    }
    assert head(sent)[b"content-length"] == str(len(sent[1]["body"])).encode()
    assert [name for name, _ in sent[0]["headers"]].count(b"x-request-id") == 1


def test_retry_after_is_whole_seconds_rounded_up() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise Unavailable("full.", retry_after_s=0.2)

    sent, _ = run(app)
    assert sent[0]["status"] == 503
    assert head(sent)[b"retry-after"] == b"1"


def test_an_unknown_error_leaks_nothing_and_is_logged_under_the_id(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("/secret/path")

    with caplog.at_level(logging.ERROR, "roost.test"):
        sent, _ = run(app, [(b"x-request-id", b"id2")])
    assert sent[0]["status"] == 500
    assert b"secret" not in sent[1]["body"]
    assert json.loads(sent[1]["body"])["error"]["code"] == "internal_error"
    assert "id2" in caplog.text
    assert "/secret/path" in caplog.text


def test_an_internal_error_of_ours_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise InternalError("chunk 'ab' is corrupt.")

    sent, _ = run(app)
    assert json.loads(sent[1]["body"])["error"]["message"] == "chunk 'ab' is corrupt."
    assert "Traceback" in caplog.text


def test_a_caller_who_left_is_met_with_silence(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ClientGone

    sent, _ = run(app)
    assert sent == []
    assert caplog.text == ""


def test_an_error_after_the_head_is_raised_again() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        raise Unavailable("cut.")

    with pytest.raises(Unavailable):
        run(app)


def test_an_error_after_the_whole_answer_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await ok(scope, receive, send)
        raise ValueError("afterwards")

    sent, _ = run(app)
    assert sent[0]["status"] == 200
    assert "afterwards" in caplog.text


def test_cancellation_passes_through() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(app)


def test_other_scopes_pass_through() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)

    async def never(*_: Any) -> Any:
        raise AssertionError

    asyncio.run(ErrorBoundary(app, "roost.test")({"type": "lifespan"}, never, never))
    assert seen == [{"type": "lifespan"}]
