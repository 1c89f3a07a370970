"""Where a servable's class comes from: its module's name, its file and the folder imports start from."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Final

from roost.bundle.imports import is_main_guard, parse_source
from roost.bundle.locate import Found
from roost.errors import InvalidServable

_MOVE: Final = "Move the class to a module file and import it from there."


@dataclass(frozen=True, slots=True)
class Origin:
    """The class's module as the worker will import it, and `root`, the folder its dotted name starts from."""

    module: Found
    root: Path


def find_origin(cls: type) -> Origin:
    """The origin of a class.

    Raises:
        InvalidServable: a class of a function or a run-time module, or of a script that is not safe
            to import.
    """
    shown = f"{cls.__module__}.{cls.__qualname__}"
    if "<locals>" in cls.__qualname__:
        raise InvalidServable(
            f"{shown} is made inside a function, so no worker can import it.",
            hint="Move the class to the top level of its module.",
        )
    module = sys.modules.get(cls.__module__)
    if module is None or not _holds(module, cls):
        raise InvalidServable(
            f"{shown} is not what its module holds under that name, so no worker can import it.",
            hint="Give the class the name it is assigned to, and leave it unreplaced.",
        )
    if cls.__module__ == "__main__":
        return _main_origin(module, shown)
    file = _source_file(module, shown)
    return _origin(cls.__module__, file, is_package=hasattr(module, "__path__"))


def _holds(module: ModuleType, cls: type) -> bool:
    held: object = module
    for name in cls.__qualname__.split("."):
        held = getattr(held, name, None)
    return held is cls


def _source_file(module: ModuleType, shown: str) -> Path:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not Path(file).is_file():
        raise InvalidServable(f"{shown} comes from no file, so its code cannot be bundled.", hint=_MOVE)
    return Path(file).absolute()


def _main_origin(main: ModuleType, shown: str) -> Origin:
    file = getattr(main, "__file__", None)
    if not isinstance(file, str) or not Path(file).is_file() or not file.endswith(".py"):
        raise InvalidServable(
            f"{shown} comes from {str(file)!r}, which is no source file to bundle.", hint=_MOVE
        )
    path = Path(file).absolute()
    spec = main.__spec__
    name = path.stem if spec is None else spec.name
    if name == "__main__" or (spec is None and "." in name):
        raise InvalidServable(
            f"{shown} comes from {str(path)!r}, whose name is no module name.",
            hint=f"Rename the file. {_MOVE}",
        )
    _refuse_unguarded(main, path)
    return _origin(name, path, is_package=False)


def _refuse_unguarded(main: ModuleType, file: Path) -> None:
    """Refuse when what runs now would run again wherever the script is imported."""
    line = _running_line(main, str(file))
    if line is None:
        return
    tree = parse_source(file.read_bytes(), file=str(file))
    if not any(_spans(node, line) for node in tree.body if is_main_guard(node)):
        raise InvalidServable(
            f"line {line} of {str(file)!r} would run again in every worker that imports the class.",
            hint='Put what the script does under: if __name__ == "__main__":',
        )


def _running_line(main: ModuleType, file: str) -> int | None:
    """The line of the script's top level that led here; None in a thread or a prompt."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if (
            frame.f_globals is vars(main)
            and code.co_name == "<module>"
            and str(Path(code.co_filename).absolute()) == file
        ):
            return frame.f_lineno
        frame = frame.f_back
    return None


def _spans(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _origin(name: str, file: Path, *, is_package: bool) -> Origin:
    parts = name.split(".")
    tail = [*parts, "__init__"] if is_package else parts
    locations = (str(file.parent),) if is_package else None
    # A compiled module has more than one suffix.
    found = [*file.parent.parts, file.name.partition(".")[0]]
    matches = found[-len(tail) :] == tail
    if not matches and len(tail) > 1:
        raise InvalidServable(
            f"module {name!r} was loaded from {str(file)!r}, which no import of that name finds.",
            hint="Import the module under the name its folders give it.",
        )
    return Origin(Found(name, file, locations), file.parents[len(tail) - 1])
