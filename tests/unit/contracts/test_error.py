from __future__ import annotations

import json

from roost.contracts.error import ErrorBody
from roost.errors import InternalError, ModelNotDeployed, NotFound, ValidationFailed


def test_the_body_names_what_the_caller_needs_and_nothing_internal() -> None:
    error = ModelNotDeployed("No model 'a'.", hint="Did you mean 'b'?", context={"secret": "s"})

    assert json.loads(ErrorBody.of(error, "r1").to_json()) == {
        "error": {
            "code": "not_found",
            "reason": "model_not_deployed",
            "message": "No model 'a'.",
            "requestId": "r1",
            "hint": "Did you mean 'b'?",
        }
    }


def test_a_plain_error_repeats_no_reason() -> None:
    assert json.loads(ErrorBody.of(NotFound("No."), "r1").to_json()) == {
        "error": {"code": "not_found", "message": "No.", "requestId": "r1"}
    }


def test_the_client_gets_the_same_error_back() -> None:
    issues = [{"loc": ["image"], "message": "missing"}]
    error = ValidationFailed("Bad.", hint="Fix.", issues=issues)

    again = ErrorBody.model_validate_json(ErrorBody.of(error, "r1").to_json()).to_exception()

    assert type(again) is ValidationFailed
    assert (again.message, again.hint, again.issues, again.request_id) == ("Bad.", "Fix.", issues, "r1")


def test_an_error_of_a_newer_server_is_an_internal_error() -> None:
    body = '{"error": {"code": "new", "reason": "newer", "message": "m", "requestId": "r"}}'

    assert type(ErrorBody.model_validate_json(body).to_exception()) is InternalError
