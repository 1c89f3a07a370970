"""Loads a class that ships by value. Also loaded by path in the checking interpreter.

Standard library and `roost.errors` only; the pickle itself imports cloudpickle.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Final

from roost.errors import InvalidServable

MAIN: Final = "__main__"
_PREFIX: Final = "servable."
_SUFFIX: Final = ".pkl"


def is_by_value(class_path: str) -> bool:
    """Whether a bundle with this class path holds its class pickled."""
    return class_path.startswith(f"{MAIN}:")


def pickle_name() -> str:
    """Where a bundle keeps the pickled class: it names the Python that made it, as bytecode files do."""
    return f"{_PREFIX}{sys.implementation.cache_tag}{_SUFFIX}"


def load_class(class_path: str, bundle: Path) -> type:
    """The pickled class of the unpacked `bundle`, whose modules are on `sys.path` already.

    Raises:
        InvalidServable: it was made by another version of Python, or is no class.
        Exception: what the loading raised, for example a module that is missing.
    """
    file = bundle / pickle_name()
    if not file.is_file():
        made_by = next((path.name for path in bundle.glob(f"{_PREFIX}*{_SUFFIX}")), f"{_PREFIX}?{_SUFFIX}")
        raise InvalidServable(
            f"{class_path!r} was pickled by {made_by[len(_PREFIX) : -len(_SUFFIX)]!r}, which this Python, "
            f"{sys.implementation.cache_tag!r}, cannot load.",
            hint="Save the model with the Python version of the workers, or move the class to a module file.",
        )
    with file.open("rb") as opened:
        found: object = pickle.load(opened)  # noqa: S301  # it is the author's code, as a module would be
    if not isinstance(found, type):
        raise InvalidServable(f"{class_path!r} is stored as {type(found).__name__!r}, not as a class.")
    return found
