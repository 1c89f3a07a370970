"""What is sent again, and how every failure becomes a `RoostError`."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx2
import pytest

import roost
from roost.client import Client
from roost.client.call import Call, parse_model
from roost.contracts.base import Wire
from roost.errors import (
    BadRequest,
    InternalError,
    ModelNotFound,
    ServerUnreachable,
    Timeout,
    TooManyRequests,
    Unavailable,
    ValidationFailed,
)


class Answer(Wire):
    value_of: int


CALL = Call("POST", "/x", parse_model(Answer), content=b"{}")
OK = httpx2.Response(200, content=b'{"valueOf": 3}')


class Server:
    """Answers with what it is given, in turn, and keeps the requests."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def client(server: Callable[[httpx2.Request], httpx2.Response], **options: object) -> Client:
    return Client("http://roost.test", transport=httpx2.MockTransport(server), **options)  # type: ignore[arg-type]


def error_body(code: str, reason: str | None = None, **fields: object) -> bytes:
    return json.dumps(
        {"error": {"code": code, "reason": reason, "message": "no", "requestId": "r1", **fields}}
    ).encode()


def test_an_answer_is_read_as_its_wire_model() -> None:
    assert client(Server(OK)).run(CALL) == Answer(value_of=3)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (httpx2.Response(404, content=error_body("not_found", "model_not_found")), ModelNotFound),
        (httpx2.Response(422, content=error_body("validation_error")), ValidationFailed),
        (httpx2.Response(418, content=error_body("teapot", "brand_new")), InternalError),
        (httpx2.Response(502, content=b"<html>bad gateway</html>"), Unavailable),
        (httpx2.Response(200, content=b'{"other": 1}'), InternalError),
        (httpx2.Response(200, content=b"not json"), InternalError),
        (httpx2.ReadTimeout("slow"), Timeout),
        (httpx2.ReadError("cut"), Unavailable),
        (httpx2.RemoteProtocolError("cut"), Unavailable),
    ],
)
def test_every_failure_is_a_roost_error_and_is_not_sent_again(
    answer: httpx2.Response | Exception, expected: type[roost.RoostError]
) -> None:
    server = Server(answer, OK)
    with pytest.raises(expected):
        client(server).run(CALL)
    assert len(server.requests) == 1


def test_a_connection_that_cannot_be_made_is_tried_again() -> None:
    server = Server(httpx2.ConnectError("refused"), OK)
    assert client(server).run(CALL).value_of == 3


def test_no_server_says_how_to_start_one() -> None:
    server = Server(*[httpx2.ConnectError("refused")] * 3)
    with pytest.raises(ServerUnreachable, match=r"'http://roost\.test'") as caught:
        client(server).run(CALL)
    assert "roost up" in str(caught.value)
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_with_retry_after_is_tried_again(status: int) -> None:
    again = httpx2.Response(status, headers={"Retry-After": "0"}, content=error_body("unavailable"))
    assert client(Server(again, OK)).run(CALL).value_of == 3


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "3600"}, {"Retry-After": "Wed, 21 Oct 2026"}])
def test_a_refusal_without_a_near_retry_after_is_final(headers: dict[str, str]) -> None:
    server = Server(httpx2.Response(429, headers=headers, content=error_body("too_many_requests")), OK)
    with pytest.raises(TooManyRequests):
        client(server).run(CALL)


def test_request_id_hint_and_issues_reach_the_caller() -> None:
    issue = {"loc": ["model"], "message": "missing"}
    body = error_body("validation_error", hint="do this", issues=[issue])
    with pytest.raises(ValidationFailed) as caught:
        client(Server(httpx2.Response(422, content=body))).run(CALL)
    assert (caught.value.request_id, caught.value.hint, caught.value.issues) == ("r1", "do this", [issue])


@pytest.mark.parametrize("url", ["", "roost.test", "ftp://roost.test", "http://"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadRequest):
        Client(url or "x")


def test_the_key_is_sent() -> None:
    server = Server(OK)
    client(server, api_key="k1").run(CALL)
    assert server.requests[0].headers["X-API-Key"] == "k1"


def test_a_key_may_hold_any_letters_but_no_line_break() -> None:
    server = Server(OK)
    client(server, api_key="ä€").run(CALL)
    assert ("ä€".encode()) in [value for _, value in server.requests[0].headers.raw]
    with pytest.raises(BadRequest, match="control character"):
        client(Server(), api_key="a\nb")
