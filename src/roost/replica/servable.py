"""Imports the class that a bundle serves."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from roost.bundle.unpickle import is_by_value, load_class
from roost.contracts.servable import ServableRef
from roost.errors import InvalidServable
from roost.serve import servable_kind


def import_servable(ref: ServableRef, bundle: Path) -> type:
    """The class `ref` names, loaded from the unpacked `bundle`, which goes first on `sys.path`.

    Processes started from this one find the bundle's modules too (`PYTHONPATH`).

    Raises:
        InvalidServable: when the module has no such class, it is not what `ref` says it is, or it was
            pickled by another version of Python.
        Exception: what the import of the module raised.
    """
    _put_first(str(bundle))
    found = load_class(ref.class_path, bundle) if is_by_value(ref.class_path) else _imported(ref.class_path)
    kind, capability = servable_kind(found)
    if (kind, capability) != (ref.kind, ref.capability):
        raise InvalidServable(
            f"{ref.class_path!r} was stored as {ref.kind} ({ref.capability}) but is {kind} ({capability}).",
            hint="Save or import the model again with this class.",
        )
    return found


def _imported(class_path: str) -> type:
    module_name, _, qualname = class_path.partition(":")
    found: object = importlib.import_module(module_name)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    if not isinstance(found, type):
        raise InvalidServable(
            f"{class_path!r} names no class: module {module_name!r} has no {qualname!r}.",
            hint="Save or import the model again with the class it is to be served by.",
        )
    return found


def _put_first(directory: str) -> None:
    if directory in sys.path:
        sys.path.remove(directory)
    sys.path.insert(0, directory)
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [directory, *(path for path in inherited if path and path != directory)]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    importlib.invalidate_caches()
