"""Imports a class as a worker would. Run as a script by `check`; never imported.

Argument: a JSON object with `path` (put behind the standard library), `bundle` (put first), `roost`
(the folder of our own package, the one thing of its parent folder to be seen), `prefix` (of the
worker's environment), `class_path`, `timeout_s` and `answer`, the file the JSON answer is written to.
Standard library only.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


class _RoostFinder:
    """Finds our own package without what else lies in the folder of an editable install."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name != "roost":
            return None
        init = Path(self._folder, "__init__.py")
        return importlib.util.spec_from_file_location(name, init, submodule_search_locations=[self._folder])


def _describe(order: dict[str, Any]) -> dict[str, Any]:
    try:
        found = _load(order["class_path"], order["bundle"])
        kind, capability = importlib.import_module("roost.serve").servable_kind(found)
        if kind == "endpoint":
            importlib.import_module("roost.contracts.endpoint_methods").endpoints_of(found)
    except BaseException as error:  # noqa: BLE001  # whatever an import raises is the answer
        return {"error": _error(error, order["bundle"])}
    return {"kind": kind, "capability": capability}


def _load(class_path: str, bundle: str) -> Any:
    # By its path: the package around it imports more than a servable may need.
    unpickle = _module_at(Path(__file__).with_name("unpickle.py"))
    if unpickle.is_by_value(class_path):
        return unpickle.load_class(class_path, Path(bundle))
    module_name, _, qualified_name = class_path.partition(":")
    found: Any = importlib.import_module(module_name)
    for name in qualified_name.split("."):
        found = getattr(found, name)
    return found


def _module_at(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _error(error: BaseException, bundle: str) -> dict[str, Any]:
    prefix = f"{bundle}/"
    where = None
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(prefix):
            where = f"{file.removeprefix(prefix)}:{trace.tb_lineno}"
        trace = trace.tb_next
    missing: BaseException | None = error
    while missing is not None and not isinstance(missing, ModuleNotFoundError):
        missing = missing.__cause__ or missing.__context__
    return {
        "type": type(error).__name__,
        "message": (getattr(error, "message", None) or str(error)).replace(prefix, ""),
        "hint": getattr(error, "hint", None),
        "is_ours": type(error).__module__ == "roost.errors",
        "file": str(error.filename).removeprefix(prefix) if isinstance(error, FileNotFoundError) else None,
        "missing": missing.name if isinstance(missing, ModuleNotFoundError) else None,
        "where": where,
    }


def _main(order: dict[str, Any]) -> None:
    # Ends by itself should the process that started it be killed.
    signal.alarm(int(order["timeout_s"]) + 1)
    sys.prefix = sys.exec_prefix = order["prefix"]
    sys.path[:] = [order["bundle"], *sys.path, *order["path"]]
    sys.meta_path.insert(0, _RoostFinder(order["roost"]))
    answer = json.dumps(_describe(order), default=str)
    Path(order["answer"]).write_text(answer, encoding="utf-8")


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
