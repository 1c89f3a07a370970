from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

from roost import errors
from roost.errors import STATUS, RoostError, error_class

CLASSES: list[type[RoostError]] = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value) and issubclass(value, RoostError) and value is not RoostError
]

CODES = {
    "BadRequest": ("bad_request", 400),
    "InvalidName": ("bad_request", 400),
    "InvalidConfig": ("bad_request", 400),
    "InvalidRequirements": ("bad_request", 400),
    "InvalidWeights": ("bad_request", 400),
    "InvalidServable": ("bad_request", 400),
    "InvalidMedia": ("bad_request", 400),
    "WrongCapability": ("bad_request", 400),
    "Unauthorized": ("unauthorized", 401),
    "Forbidden": ("forbidden", 403),
    "NotFound": ("not_found", 404),
    "ModelNotFound": ("not_found", 404),
    "ModelNotDeployed": ("not_found", 404),
    "ArtifactNotFound": ("not_found", 404),
    "MethodNotAllowed": ("method_not_allowed", 405),
    "Conflict": ("conflict", 409),
    "ModelBusy": ("conflict", 409),
    "ModelNotReady": ("conflict", 409),
    "ModelInUse": ("conflict", 409),
    "NameTaken": ("conflict", 409),
    "Infeasible": ("conflict", 409),
    "PayloadTooLarge": ("payload_too_large", 413),
    "UnsupportedMediaType": ("unsupported_media_type", 415),
    "ValidationFailed": ("validation_error", 422),
    "TooManyRequests": ("too_many_requests", 429),
    "InternalError": ("internal_error", 500),
    "CorruptArtifact": ("internal_error", 500),
    "ModelError": ("model_error", 500),
    "ModelDeployFailed": ("model_error", 500),
    "Unavailable": ("unavailable", 503),
    "StorageDenied": ("unavailable", 503),
    "ServerUnreachable": ("unavailable", 503),
    "EngineUnavailable": ("unavailable", 503),
    "EngineStartFailed": ("unavailable", 503),
    "PortTaken": ("unavailable", 503),
    "Timeout": ("timeout", 504),
}


def test_every_class_has_the_code_and_status_of_the_contract() -> None:
    assert {cls.__name__: (cls.code, cls("x").status) for cls in CLASSES} == CODES


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^([│ ]*)[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE)
    parents: dict[str, str] = {}
    path = ["RoostError"]
    for indent, name in drawn:
        depth = len(indent) // 4 + 1
        parents[name] = path[depth - 1]
        path[depth:] = [name]

    assert parents == {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES}


@pytest.mark.parametrize("code", STATUS)
def test_each_code_has_one_class_that_names_it(code: str) -> None:
    assert error_class(code).code == code
    assert error_class(code).__bases__[0] is RoostError


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("BadRequest", ValueError),
        ("NotFound", LookupError),
        ("ModelNotDeployed", LookupError),
        ("Conflict", ValueError),
        ("ModelError", RuntimeError),
        ("ModelDeployFailed", RuntimeError),
        ("ServerUnreachable", ConnectionError),
        ("EngineStartFailed", RuntimeError),
        ("PortTaken", OSError),
        ("Timeout", TimeoutError),
    ],
)
def test_code_written_for_builtin_exceptions_catches_ours(name: str, builtin: type[Exception]) -> None:
    with pytest.raises(builtin):
        raise getattr(errors, name)("x")


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("duplicate", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
def test_an_error_survives_pickling_and_copying_whole(cls: type[RoostError], duplicate: object) -> None:
    error = cls("a", hint="b", context={"c": 1}, issues=[{"loc": ["d"]}], retry_after_s=2.5)
    error.request_id = "e"
    assert callable(duplicate)

    again = duplicate(error)

    assert type(again) is cls
    assert (again.message, again.hint, again.context, again.issues) == ("a", "b", {"c": 1}, [{"loc": ["d"]}])
    assert (again.retry_after_s, again.request_id) == (2.5, "e")
    assert str(again) == "a b"


def test_the_text_is_the_message_and_the_hint() -> None:
    assert str(errors.ModelNotFound("No model 'a'.")) == "No model 'a'."
    assert str(errors.PortTaken("Port 1 is taken.", hint="Use --port.")) == "Port 1 is taken. Use --port."


@pytest.mark.parametrize("cls", CLASSES)
def test_a_client_rebuilds_the_class_from_its_reason(cls: type[RoostError]) -> None:
    assert error_class(cls.code, cls("x").reason) is cls


def test_reasons_are_snake_case() -> None:
    assert errors.ModelNotFound("x").reason == "model_not_found"
    assert errors.Timeout("x").reason == "timeout"


def test_an_unknown_reason_falls_back_to_the_code_and_an_unknown_code_to_internal_error() -> None:
    assert error_class("conflict", "from_a_newer_server") is errors.Conflict
    assert error_class("from_a_newer_server", None) is errors.InternalError
