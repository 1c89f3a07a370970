"""One endpoint as both sides know it: its parameters and result, and what goes over the wire for them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from roost.contracts.endpoint_types import ArgumentsType, ValueType, first_fault
from roost.errors import BadRequest, InternalError, ValidationFailed

_SHOWN_ISSUES: Final = 5
_ANY: Final = TypeAdapter(Any)
_TEXTS: Final = {"missing": "it is missing", "extra_forbidden": "there is no such argument"}

Issue = tuple[tuple[int | str, ...], str]
"""Where, and what."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method that is called by `POST {url}/{name}`.

    Attributes:
        signature: Without `self`.
        is_stream: Whether it yields items, a JSON value each, instead of returning one result.
        result: Of the result, or of one item.
        timeout_s: As it is marked.
    """

    name: str
    doc: str
    signature: inspect.Signature
    is_stream: bool
    arguments: ArgumentsType
    result: ValueType
    timeout_s: float | None = None

    def load_arguments(self, body: bytes) -> dict[str, Any]:
        """What to call the method with. An empty body is no arguments.

        Raises:
            BadRequest: when `body` is not JSON.
            ValidationFailed: naming each argument that is bad, missing or unknown.
        """
        try:
            arguments: dict[str, Any] = self.arguments.load(body or b"{}")
            return arguments
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False, include_input=False)
        if details[0]["type"] == "json_invalid":
            raise BadRequest(f"The arguments of {self.name!r} are not valid JSON: {details[0]['msg']}.")
        issues = [(detail["loc"][1:], _TEXTS.get(detail["type"], detail["msg"])) for detail in details]
        raise self._refused(issues)

    def dump_arguments(self, given: Sequence[Any], named: Mapping[str, Any]) -> bytes:
        """The body of a call with these positional and keyword arguments.

        Raises:
            ValidationFailed: naming each argument that is missing, unknown, given twice or without JSON.
        """
        arguments = self._bind(given, named)
        try:
            return self.arguments.dump(arguments)
        except Exception as error:
            # Types of the caller's own may raise anything.
            culprits = [name for name, value in arguments.items() if not _has_json(value)]
            issues: list[Issue] = [((name,), f"it cannot be sent: {error}") for name in culprits]
            raise self._refused(issues or [((), f"they cannot be sent: {error}")]) from error

    def load_result(self, json: bytes) -> Any:
        """A result, or an item, rebuilt by its annotation.

        Raises:
            InternalError: when it is something else, so caller and deployment differ.
        """
        try:
            return self.result.load(json)
        except ValidationError as error:
            raise InternalError(
                f"The answer of {self.name!r} is not what its annotation says: {first_fault(error)}.",
                hint="The deployment may run another version of the class; its openapi.json describes it.",
            ) from error

    def _bind(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        parameters = self.signature.parameters
        places = [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
        arguments = dict(zip(places, given, strict=False)) | dict(named)
        issues: list[Issue] = []
        if len(given) > len(places):
            issues.append(((), f"{len(given)} are given by position, at most {len(places)} are taken"))
        issues += [((name,), "it is given twice") for name in places[: len(given)] if name in named]
        issues += [((name,), _TEXTS["extra_forbidden"]) for name in named if name not in parameters]
        issues += [
            ((name,), _TEXTS["missing"])
            for name, each in parameters.items()
            if each.default is each.empty and name not in arguments
        ]
        if issues:
            raise self._refused(issues)
        return arguments

    def _refused(self, issues: Sequence[Issue]) -> ValidationFailed:
        shown = [f"{'.'.join(map(str, loc)) or 'the arguments'!r}: {text}" for loc, text in issues]
        more = f" and {len(shown) - _SHOWN_ISSUES} more" if len(shown) > _SHOWN_ISSUES else ""
        return ValidationFailed(
            f"{self.name!r} cannot be called like this: {'; '.join(shown[:_SHOWN_ISSUES])}{more}.",
            hint=f"Its parameters are {', '.join(map(repr, self.signature.parameters)) or 'none'}.",
            issues=[{"loc": list(loc), "message": text} for loc, text in issues],
        )


def _has_json(value: object) -> bool:
    try:
        _ANY.dump_json(value)
    except ValueError:
        return False
    return True
