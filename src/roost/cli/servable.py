"""SERVABLE: the class that a text names, imported from the current directory."""

from __future__ import annotations

import importlib
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Annotated, Final

import typer

from roost.errors import InvalidServable, RoostError

ServableArgument = Annotated[
    str, typer.Argument(metavar="SERVABLE", help="The class: package.module:Class or path/to/file.py:Class.")
]

_MOST_NAMED: Final = 5


def load_servable(text: str) -> type:
    """The class named by `package.module:Class` or `path/to/file.py:Class`.

    Modules are found from the current directory first, then where Python finds them. A file in a
    package is imported by its name in that package. Importing runs the module's code.

    Raises:
        typer.BadParameter: for a text of another shape.
        InvalidServable: saying why the module cannot be imported, or what it holds instead.
    """
    place, colon, name = text.rpartition(":")
    if not colon or not place or not all(part.isidentifier() for part in name.split(".")):
        raise typer.BadParameter(
            f"{text!r} names no class: write package.module:Class or path/to/file.py:Class."
        )
    _search_first(Path.cwd())
    module = _import_file(place) if place.endswith(".py") else _import_module(place)
    return _class_of(module, name, place)


def _search_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()  # what was written a moment ago is found, too


def _import_file(place: str) -> ModuleType:
    file = Path(place).absolute()
    if not file.is_file():
        raise InvalidServable(
            f"there is no file {place!r} in {str(Path.cwd())!r}.", hint="Give its path from this directory."
        )
    name, root = _name_of(file)
    if not all(part.isidentifier() for part in name.split(".")):
        raise InvalidServable(
            f"the file {place!r} cannot be imported: {name!r} is no module name.",
            hint="Rename it: letters, digits and '_' only.",
        )
    _search_first(root)
    module = _import(name, place)
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != file.resolve():
        raise InvalidServable(
            f"the file {place!r} cannot be imported: {name!r} is another module, {found or 'built in'}.",
            hint="Rename the file, or put it into a package.",
        )
    return module


def _name_of(file: Path) -> tuple[str, Path]:
    """The module's dotted name, and the folder it starts from: above the packages the file lies in."""
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def _import_module(place: str) -> ModuleType:
    if not all(part.isidentifier() for part in place.split(".")):
        raise typer.BadParameter(
            f"{place!r} is no module: write package.module:Class or path/to/file.py:Class."
        )
    return _import(place, place)


def _import(name: str, place: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except RoostError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise InvalidServable(
                f"there is no module {error.name!r} in {str(Path.cwd())!r}, nor is it installed.",
                hint="Run the command in the folder that holds it, or name the file: path/to/file.py:Class.",
            ) from error
        raise _failed(place, error, hint=f"Install {error.name!r} here.") from error
    except (Exception, SystemExit) as error:  # whatever a module raises is its own fault
        raise _failed(place, error, hint="Mend the module; importing it must not fail.") from error


def _failed(place: str, error: BaseException, *, hint: str) -> InvalidServable:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in (__file__, importlib.__file__) and not frame.filename.startswith("<frozen ")
    ]
    where = f" (line {frames[-1].lineno} of {frames[-1].filename})" if frames else ""
    return InvalidServable(
        f"{place!r} cannot be imported: {type(error).__name__}: {error}{where}.", hint=hint
    )


def _class_of(module: ModuleType, name: str, place: str) -> type:
    held: object = module
    for part in name.split("."):
        held = getattr(held, part, None)
    if isinstance(held, type):
        return held
    if held is not None:
        raise InvalidServable(f"{name!r} of {place!r} is no class, but {type(held).__name__} {held!r:.80}.")
    own = [cls for cls, value in vars(module).items() if _is_own(value, module)]
    named = ", ".join(map(repr, get_close_matches(name, own, n=_MOST_NAMED) or own[:_MOST_NAMED]))
    raise InvalidServable(
        f"{place!r} holds no class {name!r}.",
        hint=f"It holds {named}." if named else "It holds no class of its own.",
    )


def _is_own(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__
