"""cloudpickle's pickler, made to give the same bytes for the same source in every session."""

from __future__ import annotations

import dataclasses
import io
import re
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeVar

import cloudpickle  # type: ignore[import-untyped]  # it has no types

_PROTOCOL: Final = 5
_WITHOUT_STATE: Final = 2
_CODE_FILE: Final = "<notebook>"
_DATACLASS_MARKS: Final = {
    id(getattr(dataclasses, name)): name
    for name in ("MISSING", "KW_ONLY", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR")
}
"""Objects that dataclasses tell by identity, so that a copy would be another default."""

_TRACKER_ID: Final = re.compile(r"[0-9a-f]{32}")


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # untyped
    """Notes what it meets, and leaves out what differs from session to session: files and random ids of
    cells, and the order of sets of strings, which follows the hash seed.

    Attributes:
        modules: Names of the modules that are pickled by name.
        codes: The code of the functions that are pickled by value.
    """

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=_PROTOCOL)
        self.modules: set[str] = set()
        self.codes: list[CodeType] = []
        self._classes: list[type] = []
        self._sorted: dict[int, _Sorted] = {}

    def reducer_override(self, obj: Any) -> Any:
        """As pickle asks: how `obj` is made again, or NotImplemented."""
        if isinstance(obj, ModuleType) and obj.__name__ in sys.modules:
            self.modules.add(obj.__name__)
        if isinstance(obj, CodeType):
            self.codes.append(obj)
            return self.dispatch_table[CodeType](self._without_place(obj))
        if isinstance(obj, TypeVar):
            return _untracked(self.dispatch_table[TypeVar](obj))
        if isinstance(obj, _Sorted) or id(obj) in _DATACLASS_MARKS:
            return (obj.kind, (obj.items,)) if isinstance(obj, _Sorted) else _DATACLASS_MARKS[id(obj)]
        if _is_app_state(type(obj)):
            return type(obj), (vars(obj)["_state"],)
        reduced = super().reducer_override(obj)
        if reduced is NotImplemented:
            return NotImplemented if isinstance(obj, type | FunctionType) else self._reduced_instance(obj)
        # `type(None)` and the like have no state, and are no definitions.
        is_definition = isinstance(reduced, tuple) and len(reduced) > _WITHOUT_STATE
        return self._reduced_definition(obj, reduced) if is_definition else reduced

    def without_addresses(self, data: bytes) -> bytes:
        """The pickle with pydantic's names of schemas counting the classes, in place of their addresses."""
        for number, cls in enumerate(self._classes):
            name = f"{cls.__module__}.{cls.__qualname__}:"
            address = str(id(cls))
            # Of the same length: the pickle counts bytes.
            data = data.replace(f"{name}{address}".encode(), f"{name}{number:0{len(address)}}".encode())
        return data

    def _without_place(self, code: CodeType) -> CodeType:
        """`code` without the name of the cell's file, which tells the process and the machine."""
        constants = tuple(self._in_order(item) for item in code.co_consts)
        return code.replace(co_filename=_CODE_FILE, co_consts=constants)

    def _reduced_definition(self, obj: Any, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
        """A class or a function by value: `(make, arguments, (attributes, slots), ...)`."""
        make, arguments, (attributes, slots), *rest = reduced
        if isinstance(obj, FunctionType):
            slots = {**slots, "__globals__": self._all_in_order(slots["__globals__"])}
            return make, arguments, (attributes, slots), *rest
        self._classes.append(obj)
        return _untracked((make, arguments, (self._all_in_order(attributes), slots), *rest))

    def _reduced_instance(self, obj: Any) -> Any:
        """An ordinary object that holds sets of strings; any other is left to pickle."""
        kind: Any = type(obj)
        is_ordinary = (
            kind.__reduce_ex__ is object.__reduce_ex__
            and kind.__reduce__ is object.__reduce__
            and kind not in self.dispatch_table
        )
        if not is_ordinary or not any(map(_is_set_of_text, getattr(obj, "__dict__", {}).values())):
            return NotImplemented
        make, arguments, state, *rest = obj.__reduce_ex__(_PROTOCOL)
        return make, arguments, self._all_in_order(state) if isinstance(state, dict) else state, *rest

    def _all_in_order(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._in_order(value) for name, value in values.items()}

    def _in_order(self, value: Any) -> Any:
        # One stand-in for each set, so that what shares one goes on sharing it.
        return self._sorted.setdefault(id(value), _Sorted(value)) if _is_set_of_text(value) else value


class _Sorted:
    """Stands for a set of strings."""

    def __init__(self, items: set[str] | frozenset[str]) -> None:
        self.kind = type(items)
        self.items = tuple(sorted(items))


def _is_set_of_text(value: Any) -> bool:
    return type(value) in (set, frozenset) and all(type(item) is str for item in value)


def _untracked(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """A reduced class without the random number by which cloudpickle would know it again."""
    make, arguments, *rest = reduced
    kept = (None if isinstance(item, str) and _TRACKER_ID.fullmatch(item) else item for item in arguments)
    return make, tuple(kept), *rest


def _is_app_state(kind: type) -> bool:
    """Whether it is Starlette's State: its `__getattr__` never ends while a pickle makes it by itself."""
    return (kind.__module__, kind.__qualname__) == ("starlette.datastructures", "State")
