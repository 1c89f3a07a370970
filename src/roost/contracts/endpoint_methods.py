"""Reads the endpoints of a class, and says why a method cannot be one."""

from __future__ import annotations

import collections.abc
import inspect
import keyword
from types import FunctionType, NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_types import ArgumentsType, ValueType, first_fault
from roost.errors import InvalidServable
from roost.serve import EndpointMark, endpoint_marks

_ITERATORS: Final = (
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncIterator,
    collections.abc.Generator,
    collections.abc.Iterator,
)
_STREAMS: Final = (*_ITERATORS, collections.abc.Iterable)
_RESERVED: Final = frozenset({"check_health", "unload"})
_KINDS: Final = {
    inspect.Parameter.VAR_POSITIONAL: "takes any number of positional arguments",
    inspect.Parameter.VAR_KEYWORD: "takes arguments of any name",
    inspect.Parameter.POSITIONAL_ONLY: "can only be given by position, and arguments travel by name",
}


def endpoints_of(cls: type) -> dict[str, Endpoint]:
    """The endpoints of a class by name, in the order of their definition.

    Raises:
        InvalidServable: naming the method that cannot be one, and why.
    """
    return {name: _Method(cls, name).read(mark) for name, mark in endpoint_marks(cls).items()}


class _Method:
    """A marked method on its way to be an `Endpoint`."""

    def __init__(self, cls: type, name: str) -> None:
        self._name = name
        self._shown = f"{cls.__qualname__}.{name}"
        self._function = inspect.getattr_static(cls, name)
        self._check_name()
        if not isinstance(self._function, FunctionType):
            raise self._invalid(
                f"is {type(self._function).__name__}, not a method of an instance",
                "Write it as a plain method with def or async def.",
            )

    def read(self, mark: EndpointMark) -> Endpoint:
        hints = self._hints()
        signature = self._signature(hints)
        is_stream = inspect.isgeneratorfunction(self._function) or inspect.isasyncgenfunction(self._function)
        result = self._result_annotation(hints, is_stream=is_stream)
        return Endpoint(
            name=self._name,
            doc=inspect.getdoc(self._function) or "",
            signature=signature,
            is_stream=is_stream,
            arguments=self._arguments_type(signature),
            result=self._value_type(result, "yields" if is_stream else "returns"),
            timeout_s=mark.timeout_s,
        )

    def _check_name(self) -> None:
        if self._name.startswith("_"):
            raise self._invalid("begins with an underscore, which marks what is not public", "Rename it.")
        if self._name in _RESERVED:
            raise self._invalid("has a name that Roost calls by itself in the replica", "Rename it.")
        if keyword.iskeyword(self._name) or not self._name.isidentifier():
            raise self._invalid("has a name that Python code cannot call", "Rename it.")

    def _hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self._function, include_extras=True)
        except Exception as error:
            raise self._invalid(
                f"has an annotation that cannot be read: {type(error).__name__}: {error}",
                "Import what annotations name at the top of the module, not under TYPE_CHECKING; in a "
                "notebook, leave out `from __future__ import annotations`.",
            ) from error

    def _signature(self, hints: dict[str, Any]) -> inspect.Signature:
        signature = inspect.signature(self._function)
        parameters = list(signature.parameters.values())
        if not parameters:
            raise self._invalid("has no `self`", "Write it as a method of an instance.")
        own = [each.replace(annotation=hints.get(each.name, each.empty)) for each in parameters[1:]]
        for each in own:
            if each.kind in _KINDS:
                raise self._invalid(
                    f"has the parameter {str(each).partition(':')[0]!r}, which {_KINDS[each.kind]}",
                    "Name each parameter, so that callers and the openapi.json know them.",
                )
            if each.annotation is each.empty:
                raise self._invalid(
                    f"has the parameter {each.name!r} without a type",
                    f"Annotate it, for example {each.name}: str.",
                )
        returned = hints.get("return", signature.empty)
        return signature.replace(parameters=own, return_annotation=returned)

    def _result_annotation(self, hints: dict[str, Any], *, is_stream: bool) -> Any:
        if "return" not in hints:
            raise self._invalid(
                "has no return type", "Annotate it, for example -> str, or -> None where nothing is returned."
            )
        annotation = hints["return"]
        arguments = get_args(annotation)
        named = get_origin(annotation) or annotation
        if not is_stream:
            if named in _ITERATORS:
                raise self._invalid(
                    f"returns {inspect.formatannotation(annotation)} but does not yield",
                    "Write a stream as a generator: a method with yield in it.",
                )
            return annotation
        if named not in _STREAMS or not arguments:
            raise self._invalid(
                f"yields items of no known type: {inspect.formatannotation(annotation)}",
                "Annotate it, for example -> AsyncIterator[str], or -> Iterator[str] for a plain generator.",
            )
        return arguments[0]

    def _arguments_type(self, signature: inspect.Signature) -> ArgumentsType:
        required: dict[str, Any] = {}
        optional: dict[str, Any] = {}
        for name, each in signature.parameters.items():
            (required if each.default is each.empty else optional)[name] = each.annotation
        try:
            arguments = ArgumentsType(f"{self._name}_arguments", required, optional)
            arguments.adapter.json_schema()
        except Exception as error:
            for name, each in signature.parameters.items():
                self._value_type(each.annotation, f"takes {name!r} of", mode="validation")
            raise self._invalid(f"has parameters that JSON cannot describe: {_reason(error)}", "") from error
        self._check_defaults(signature)
        return arguments

    def _check_defaults(self, signature: inspect.Signature) -> None:
        for name, each in signature.parameters.items():
            if each.default is each.empty:
                continue
            try:
                ValueType(each.annotation).adapter.validate_python((each.default,))
            except Exception as error:
                shown = inspect.formatannotation(each.annotation)
                raise self._invalid(
                    f"has the parameter {name!r} of the type {shown} with the default {each.default!r:.80}, "
                    f"which is not one: {first_fault(error)}",
                    f"Give it a default of its type, or a type that holds it, such as {shown} | None.",
                ) from error

    def _value_type(self, annotation: Any, verb: str, *, mode: Any = "serialization") -> ValueType:
        try:
            value_type = ValueType(annotation)
            value_type.adapter.json_schema(mode=mode)
        except Exception as error:
            shown = "None" if annotation is NoneType else inspect.formatannotation(annotation)
            raise self._invalid(
                f"{verb} the type {shown}, which JSON cannot describe: {_reason(error)}",
                "Use plain types, dataclasses, TypedDicts, pydantic models or bytes; "
                "for an array, its list or its bytes.",
            ) from error
        return value_type

    def _invalid(self, why: str, hint: str) -> InvalidServable:
        return InvalidServable(f"The endpoint {self._shown!r} {why}.", hint=hint or None)


def _reason(error: Exception) -> str:
    """The first sentence; pydantic goes on with advice that does not fit here."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.partition(". ")[0].rstrip(".")
