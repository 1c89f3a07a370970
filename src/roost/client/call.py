"""One call to the server as a value: what is sent and how the answer is read.

Both clients run the same calls, so every route is described once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_snake

from roost.errors import InternalError, ValidationFailed

Result = TypeVar("Result")
Model = TypeVar("Model", bound=BaseModel)

Parse = Callable[[bytes], Result]
Part = tuple[str, tuple[str, bytes, str]]
"""A multipart part: field, (file name, bytes, content type)."""


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """One request and how its answer is read.

    Attributes:
        path: Path below the server's URL, each segment already quoted.
        parse: Reads the body of a successful answer.
        parts: Sent as a multipart form, in place of `content`.
        timeout_s: None takes the client's default.
    """

    method: str
    path: str
    parse: Parse[Result]
    params: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    content_type: str = "application/json"
    parts: tuple[Part, ...] = ()
    timeout_s: float | None = None


def parse_model(model: type[Model]) -> Parse[Model]:
    """Read the answer as a wire model.

    Raises (when called):
        InternalError: when a successful answer has another shape, so client and server disagree.
    """

    def parse(body: bytes) -> Model:
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the body"
            raise InternalError(
                f"The server's answer is not a {model.__name__}: {where}: {first['msg']}.",
                hint="Client and server versions may differ; see `roost status` and `roost --version`.",
            ) from error

    return parse


def request_of(kind: type[Model], /, *, strict: bool = False, within: str = "", **fields: Any) -> Model:
    """A request's wire model, or a part of one.

    Args:
        strict: Take no text or bool for a number, and no number for a bool.
        within: The argument whose parts these are; named in front of each.

    Raises:
        ValidationFailed: naming the argument that breaks a rule as it is called in Python.
    """
    try:
        return kind.model_validate(fields, strict=strict or None)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        issues = [
            {"loc": _argument(each["loc"], within), "message": each["msg"].removeprefix("Value error, ")}
            for each in found
        ]
        name = ".".join(str(step) for step in issues[0]["loc"])
        if found[0]["type"] == "missing":
            raise ValidationFailed(f"{name} is missing.", issues=issues) from error
        given = found[0]["input"]
        raise ValidationFailed(
            f"{name}={given!r:.80} is not valid: {issues[0]['message']}.", issues=issues
        ) from error


def _argument(location: tuple[int | str, ...], within: str) -> list[int | str]:
    """Where a fault is, by Python's names instead of the wire's."""
    steps = [to_snake(step) if isinstance(step, str) else step for step in location]
    return [within, *steps] if within else steps


def parse_bytes(body: bytes) -> bytes:
    """The answer as it came."""
    return body


def parse_text(body: bytes) -> str:
    """The answer as text; what is not UTF-8 is replaced."""
    return body.decode("utf-8", "replace")


def parse_nothing(_body: bytes) -> None:
    """The answer has no body that matters."""


def optional(values: dict[str, Any]) -> dict[str, str]:
    """Query parameters without those that are None."""
    return {name: _text(value) for name, value in values.items() if value is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
