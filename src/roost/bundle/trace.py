"""Traces what a servable needs: its own source files, and pins of what is installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.bundle.by_value import class_path_of, is_typed, pickle_class
from roost.bundle.graph import Graph
from roost.bundle.include import module_name, package_modules, resolve_include
from roost.bundle.origin import find_origin
from roost.bundle.unpickle import pickle_name
from roost.bundle.wanted import Wanted
from roost.errors import InvalidServable
from roost.serve import servable_class

CHECK_VARIABLE: Final = "ROOST_BUNDLE_CHECK"
"""Set in the environment of the interpreter that checks a bundle."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What a bundle will hold.

    Attributes:
        files: Archive path → file on this machine.
        class_path: `package.module:Qual.name`; of a class that ships by value, `__main__:Qual.name`.
        pins: Requirement lines of installed distributions that not every worker has, sorted.
        notes: What the owner of the code should know, a sentence each; for example a local build.
        made: Archive path → bytes of what is no file here: a pickled class.
        reasons: Archive path → why it is there.
        pin_reasons: Pin → why it is there.
    """

    files: dict[str, Path]
    class_path: str
    pins: list[str]
    notes: list[str] = field(default_factory=list)
    made: dict[str, bytes] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    pin_reasons: dict[str, str] = field(default_factory=dict)


def trace(servable: type, include: Sequence[str | Path] = ()) -> Traced:
    """Follow the imports of `servable` through source files; nothing is imported or run.

    The user's modules, editable installs among them, ship as files at their import paths. Installed
    distributions become pins, except those every worker has. A servable that is itself installed
    ships as a pin alone. A class typed into a notebook or a prompt ships pickled by value, with what
    its code refers to.

    Args:
        servable: A class that `roost.serve.servable_kind` knows; its kind is not asked here.
        include: Files and folders below the folder the servable's import path starts from (of a typed
            class: the working directory), and dotted names of modules (a package with all beneath it)
            that no import statement names.

    Raises:
        InvalidServable: naming the file, module, class or value that cannot be bundled, and why.
    """
    cls = servable_class(servable)
    if CHECK_VARIABLE in os.environ:
        raise InvalidServable(
            f"importing the module of {cls.__qualname__!r} saves a model, which would never end.",
            hint='Put what the module does under: if __name__ == "__main__":',
        )
    if is_typed(cls):
        return _trace_value(cls, include)
    origin = find_origin(cls)
    graph = Graph(origin.root)
    graph.locator.know(origin.module)
    graph.add_module(
        origin.module.name,
        wanted=Wanted(f"class {cls.__qualname__!r}", f"holds the class {cls.__qualname__!r}"),
    )
    return _finished(graph, include, origin.root, f"{origin.module.name}:{cls.__qualname__}", {})


def _trace_value(cls: type, include: Sequence[str | Path]) -> Traced:
    root = Path.cwd()
    graph = Graph(root)
    pickled = pickle_class(cls)
    wanted = Wanted(f"class {cls.__qualname__!r}", f"used by the class {cls.__qualname__!r}")
    for name in pickled.modules:
        graph.add_module(name, wanted=wanted)
    for item in pickled.imports:
        graph.add_import(item, wanted, item.required)
    graph.notes.add(pickled.note)
    return _finished(graph, include, root, class_path_of(cls), {pickle_name(): pickled.data})


def _finished(
    graph: Graph, include: Sequence[str | Path], root: Path, class_path: str, made: dict[str, bytes]
) -> Traced:
    _add_included(graph, include, root)
    graph.follow()
    taken = next((path for path in made if path in graph.files), None)
    if taken is not None:
        raise InvalidServable(
            f"include {taken!r} has the name under which {class_path!r} is pickled.", hint="Rename the file."
        )
    return Traced(
        files=dict(sorted(graph.files.items())),
        class_path=class_path,
        pins=sorted(graph.pins),
        notes=sorted(graph.notes),
        made=made,
        reasons={**graph.reasons, **dict.fromkeys(made, f"the class {class_path!r}, by value")},
        pin_reasons=graph.pins,
    )


def _add_included(graph: Graph, include: Sequence[str | Path], root: Path) -> None:
    included = resolve_include(include, root)
    for archive_path, file in included.files.items():
        if graph.is_installed(file):
            raise InvalidServable(
                f"include {archive_path!r} is part of an installed distribution, which ships as a pin.",
                hint="Leave it out: the distribution brings its own files.",
            )
        graph.add_file(archive_path, file, "include")
        name = module_name(archive_path)
        if name is not None:
            # A data folder may hold scripts that nobody imports: what they lack is no fault.
            graph.add_module(name, wanted=_included(archive_path), required=False)
    for name in included.modules:
        graph.add_module(name, wanted=_included(name))
        found = graph.locator.find(name)
        if found is not None and found.locations is not None and not graph.is_foreign(found):
            for submodule in package_modules(name, found.locations):
                graph.add_module(submodule, wanted=_included(name))


def _included(entry: str) -> Wanted:
    return Wanted(f"include {entry!r}", f"include {entry!r}")
