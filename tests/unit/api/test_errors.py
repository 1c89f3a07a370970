from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI, Query
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from roost.api.errors import install_error_handlers
from roost.asgi.boundary import ErrorBoundary
from roost.contracts.base import Wire
from roost.contracts.requirements import ModelRequirements
from roost.errors import CorruptArtifact, ModelBusy, Unavailable

RAISED: dict[str, Exception] = {
    "busy": ModelBusy("'a/b/c' is being saved.", hint="Try again.", retry_after_s=1.2),
    "away": Unavailable("Not now."),
    "corrupt": CorruptArtifact("Chunk 'aa' is corrupt."),
    "secret": KeyError("the password is 1234"),
    "teapot": HTTPException(418, "I am a teapot."),
    "large": HTTPException(413, "Too large."),
    "gateway": HTTPException(502, "Bad gateway."),
}


class Body(Wire):
    how_many: int
    requirements: ModelRequirements | None = None
    texts: dict[str, int] | None = None


@pytest.fixture
def client() -> Iterator[TestClient]:
    app = FastAPI()
    install_error_handlers(app)

    @app.get("/raise/{what}")
    def fail(what: str) -> None:
        raise RAISED[what]

    @app.post("/body")
    def body(body: Body, limit: int = Query(default=1, ge=1)) -> Body:
        return body

    @app.get("/text")
    def text() -> None:
        "\ud800".encode()

    with TestClient(ErrorBoundary(app, "roost.test"), raise_server_exceptions=False) as client:
        yield client


def error(response: Any) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert list(body) == ["error"]
    found: dict[str, Any] = body["error"]
    assert found.pop("requestId") == response.headers["x-request-id"] != ""
    return found


def test_our_errors_are_sent_as_they_are(client: TestClient) -> None:
    response = client.get("/raise/busy", headers={"X-Request-ID": "mine-1"})
    assert response.status_code == 409
    assert response.headers["x-request-id"] == "mine-1"
    assert response.headers["retry-after"] == "2"
    assert error(response) == {
        "code": "conflict",
        "reason": "model_busy",
        "message": "'a/b/c' is being saved.",
        "hint": "Try again.",
    }


def test_anything_else_is_told_without_its_text(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    response = client.get("/raise/secret")
    assert response.status_code == 500
    assert "1234" not in response.text
    assert error(response) == {
        "code": "internal_error",
        "message": "The server failed while it handled this request.",
        "hint": "Its log has the cause under the request id.",
    }
    records = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(records) == 1
    assert response.headers["x-request-id"] in records[0].getMessage()
    assert records[0].exc_info is not None
    assert isinstance(records[0].exc_info[1], KeyError)


@pytest.mark.parametrize(("what", "status"), [("away", 503), ("corrupt", 500)])
def test_our_faults_are_logged_once(
    client: TestClient, caplog: pytest.LogCaptureFixture, what: str, status: int
) -> None:
    response = client.get(f"/raise/{what}")
    assert response.status_code == status
    records = [record for record in caplog.records if record.name.startswith("roost")]
    assert len(records) == 1
    assert response.headers["x-request-id"] in records[0].getMessage()


def test_no_such_route(client: TestClient) -> None:
    response = client.get("/nowhere")
    assert response.status_code == 404
    assert error(response) == {
        "code": "not_found",
        "message": "There is no route '/nowhere'.",
        "hint": "`/docs` lists the routes.",
    }


def test_wrong_method(client: TestClient) -> None:
    response = client.delete("/body")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert error(response) == {
        "code": "method_not_allowed",
        "message": "The route '/body' does not take DELETE.",
        "hint": "It takes POST.",
    }


@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ("large", 413, "payload_too_large"),
        ("teapot", 400, "bad_request"),
        ("gateway", 500, "internal_error"),
    ],
)
def test_errors_of_the_framework(client: TestClient, what: str, status: int, code: str) -> None:
    response = client.get(f"/raise/{what}")
    assert response.status_code == status
    assert error(response)["code"] == code


def test_fields_that_break_their_rules_are_all_named(client: TestClient) -> None:
    response = client.post("/body?limit=0", json={"howMany": "secret"})
    assert response.status_code == 422
    found = error(response)
    assert found["code"] == "validation_error"
    assert [issue["loc"] for issue in found["issues"]] == [["query", "limit"], ["body", "howMany"]]
    assert set(found["issues"][0]) == {"loc", "message"}
    assert found["message"].startswith("'query.limit' is not valid: ")
    assert "secret" not in response.text


def test_the_answer_to_a_huge_bad_body_is_small(client: TestClient) -> None:
    texts = {f"{i}" + "x" * 1000: "no number" for i in range(1000)}
    response = client.post("/body", json={"howMany": 1, "texts": texts})
    assert response.status_code == 422
    assert len(error(response)["issues"]) == 50
    assert len(response.content) < 20_000


def test_a_rule_of_ours_broken_in_the_body_is_its_own_error(client: TestClient) -> None:
    response = client.post("/body", json={"howMany": 1, "requirements": {"vramGb": 4}})
    assert response.status_code == 400
    assert error(response) == {
        "code": "bad_request",
        "reason": "invalid_requirements",
        "message": "vram_gb=4.0 needs a GPU, but num_gpus is 0.",
        "hint": "Set num_gpus=1 or a fraction.",
    }


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"nope", b'{"a": 1,}'])
def test_a_body_that_is_no_json(client: TestClient, body: bytes) -> None:
    response = client.post("/body", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400
    found = error(response)
    assert found["code"] == "bad_request"
    assert "JSON" in found["message"]


def test_half_characters_are_the_callers_fault(client: TestClient) -> None:
    response = client.get("/text")
    assert response.status_code == 400
    assert error(response)["message"] == "A text of the request holds half of a surrogate pair."


def test_without_the_boundary_there_is_a_request_id_as_well() -> None:
    app = FastAPI()
    install_error_handlers(app)
    with TestClient(app) as client:
        assert client.get("/no").headers["x-request-id"] != ""
        assert client.get("/no", headers={"X-Request-ID": "mine"}).headers["x-request-id"] == "mine"
