"""How values of annotated types travel: as the JSON that pydantic makes of them.

Bytes are base64 (URL-safe out, either alphabet in); numbers that are not finite are the strings
`"NaN"`, `"Infinity"` and `"-Infinity"`. Dataclasses and pydantic models keep their own settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NotRequired, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

_WIRE: Final = ConfigDict(
    ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="strings", protected_namespaces=()
)


class ValueType:
    """One annotated type.

    Attributes:
        adapter: Of a tuple of one such value: a type alone could not be given these settings.

    Raises:
        Exception: whatever pydantic, or a type of the caller's, says against `annotation`.
    """

    __slots__ = ("adapter",)

    def __init__(self, annotation: Any) -> None:
        pair: Any = tuple[annotation]
        self.adapter: TypeAdapter[Any] = TypeAdapter(pair, config=_WIRE)

    def dump(self, value: object) -> bytes:
        """The JSON of `value`, without a line break in it.

        Raises:
            ValidationError: when it is not of this type.
            Exception: whatever a serializer raises.
        """
        valid = self.adapter.validate_python((value,))
        return self.adapter.dump_json(valid, by_alias=True)[1:-1]

    def load(self, json: bytes) -> Any:
        """The value that `json` stands for.

        Raises:
            ValidationError: when it is not JSON, or not of this type.
        """
        return self.adapter.validate_json(b"[%b]" % json)[0]


class ArgumentsType(ValueType):
    """The arguments of one method, as an object without unknown members.

    Args:
        name: Of the object in schemas.
        required, optional: Annotations by name.

    Raises:
        Exception: whatever pydantic, or a type of the caller's, says against an annotation.
    """

    __slots__ = ()

    def __init__(self, name: str, required: Mapping[str, Any], optional: Mapping[str, Any]) -> None:
        fields = dict(required)
        # An absent one is left out, so that the method's own default is used as Python would.
        fields.update({key: NotRequired[annotation] for key, annotation in optional.items()})
        arguments: Any = cast(Any, TypedDict)(name, fields)
        arguments.__pydantic_config__ = _WIRE | {"extra": "forbid"}
        super().__init__(arguments)

    def dump(self, value: object) -> bytes:
        """The JSON of arguments by name. What has another type than annotated is written as what it is.

        Raises:
            Exception: when there is no JSON for an argument.
        """
        return self.adapter.dump_json((value,), by_alias=True, warnings=False)[1:-1]


def first_fault(error: Exception) -> str:
    """What is wrong with a value, without the value itself; of any other error its type."""
    if not isinstance(error, ValidationError):
        return type(error).__name__
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"][1:]))
    return f"{where}: {first['msg']}" if where else first["msg"]
