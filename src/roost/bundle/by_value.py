"""Pickles a class that was typed into a notebook or a prompt, so that it can be served without a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Final

import cloudpickle  # type: ignore[import-untyped]  # it has no types

from roost.bundle.archive import MAX_TOTAL_BYTES
from roost.bundle.code_imports import code_imports
from roost.bundle.imports import Import
from roost.bundle.pickle_names import named_modules
from roost.bundle.pickler import Pickler
from roost.bundle.unpickle import MAIN
from roost.errors import InvalidServable

_PROMPT_FILES: Final = ("<stdin", "<python-input", "<ipython-input", "<console")
_OWN_TOOLS: Final = frozenset({MAIN, "cloudpickle"})


@dataclass(frozen=True, slots=True)
class Pickled:
    """A class by value.

    Attributes:
        modules: What it refers to by name, sorted: modules, and those of functions and classes.
        imports: The import statements inside its functions.
        note: What the author should know of it.
    """

    data: bytes
    modules: list[str]
    imports: list[Import]
    note: str


def is_typed(cls: type) -> bool:
    """Whether a class was typed into a notebook or a prompt, so that no file holds it."""
    if cls.__module__ != MAIN:
        return False
    if not isinstance(getattr(sys.modules.get(MAIN), "__file__", None), str):
        return True
    # After `python -i script.py` there are both: classes of the script and typed ones.
    return any(code.co_filename.startswith(_PROMPT_FILES) for code in _codes_of(cls))


def class_path_of(cls: type) -> str:
    """The class path of a class that ships by value."""
    return f"{MAIN}:{cls.__qualname__}"


def pickle_class(cls: type) -> Pickled:
    """Pickle a class with the functions, classes and values of `__main__` that its code refers to.

    What other modules define is referred to by name. The bytes are the same for the same source,
    wherever and whenever it is typed, but for values that differ themselves, such as times.

    Raises:
        InvalidServable: naming the value that cannot be pickled, or the largest when no bundle holds all.
    """
    buffer = io.BytesIO()
    pickler = Pickler(buffer)
    try:
        pickler.dump(cls)
    except Exception as error:  # whatever the reducer of a user's object raises
        raise _refusal(cls, pickler.codes, error) from error
    data = pickler.without_addresses(buffer.getvalue())
    if len(data) > MAX_TOTAL_BYTES:
        raise _too_large(cls, pickler.codes, len(data))
    modules = {*named_modules(data), *pickler.modules}
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Pickled(
        data=data,
        modules=sorted(name for name in modules if name.partition(".")[0] not in _OWN_TOOLS),
        imports=[item for code in pickler.codes for item in code_imports(code)],
        note=f"{class_path_of(cls)} was typed into a notebook or a prompt and ships pickled: "
        f"the workers must run Python {version}, as here.",
    )


def _codes_of(cls: type) -> Iterator[CodeType]:
    for member in vars(cls).values():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, FunctionType):
            yield function.__code__


def _refusal(cls: type, codes: Iterable[CodeType], error: Exception) -> InvalidServable:
    culprit = next(_unpicklable(cls, codes), None)
    shown = f" its {culprit} cannot be pickled" if culprit else " it cannot be pickled"
    return InvalidServable(
        f"{MAIN}.{cls.__qualname__} was typed into a notebook or a prompt, so it would ship by value, but"
        f"{shown}: {type(error).__name__}: {error}.",
        hint="Make such a value in the class's __init__, or move the class to a module file.",
    )


def _unpicklable(cls: type, codes: Iterable[CodeType]) -> Iterator[str]:
    """The values that stop the class, named as its author knows them."""
    for name, value in _values(cls, codes):
        try:
            cloudpickle.dumps(value)
        except Exception:  # noqa: BLE001  # whatever a reducer raises: this is one of those sought
            yield f"{name} ({type(value).__module__}.{type(value).__qualname__})"


def _too_large(cls: type, codes: Iterable[CodeType], size: int) -> InvalidServable:
    # Descriptors refer to the class itself, and so to everything.
    sizes = {
        name: _pickled_size(value) for name, value in _values(cls, codes) if not hasattr(value, "__get__")
    }
    largest = max(sizes, key=sizes.__getitem__, default=None)
    shown = f" Its {largest} has {_mib(sizes[largest])}." if largest is not None else ""
    return InvalidServable(
        f"{MAIN}.{cls.__qualname__} was typed into a notebook or a prompt, so it would ship by value, but "
        f"its pickle has {_mib(size)}, over the {_mib(MAX_TOTAL_BYTES)} of a bundle.{shown}",
        hint="Save large data as the model's weights, and read it from there in the class's __init__.",
    )


def _pickled_size(value: object) -> int:
    buffer = io.BytesIO()
    Pickler(buffer).dump(value)
    return buffer.tell()


def _mib(size: int) -> str:
    return f"{-(-size // 1024**2)} MiB"


def _values(cls: type, codes: Iterable[CodeType]) -> list[tuple[str, object]]:
    """The values that ship with the class, but for classes and functions, named as its author knows them."""
    values = vars(sys.modules[MAIN])
    used = dict.fromkeys(name for code in codes for name in code.co_names if name in values)
    found = [(f"global {name!r}", values[name]) for name in used]
    found += [(f"attribute {name!r}", value) for name, value in vars(cls).items()]
    return [(name, value) for name, value in found if not isinstance(value, type | FunctionType)]
