"""Traces what a servable needs: its own source files, and pins of what is installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.bundle.graph import Graph
from roost.bundle.include import module_name, package_modules, resolve_include
from roost.bundle.origin import find_origin
from roost.errors import InvalidServable
from roost.serve import servable_class

CHECK_VARIABLE: Final = "ROOST_BUNDLE_CHECK"
"""Set in the environment of the interpreter that checks a bundle."""


@dataclass(frozen=True, slots=True)
class Traced:
    """What a bundle will hold.

    Attributes:
        files: Archive path → file on this machine.
        class_path: `package.module:Qual.name`.
        pins: Requirement lines of installed distributions that not every worker has, sorted.
        notes: What the owner of the code should know, a sentence each; for example a local build.
    """

    files: dict[str, Path]
    class_path: str
    pins: list[str]
    notes: list[str] = field(default_factory=list)


def trace(servable: type, include: Sequence[str | Path] = ()) -> Traced:
    """Follow the imports of `servable` through source files; nothing is imported or run.

    The user's modules, editable installs among them, ship as files at their import paths. Installed
    distributions become pins, except those every worker has. A servable that is itself installed
    ships as a pin alone.

    Args:
        servable: A class that `roost.serve.servable_kind` knows; its kind is not asked here.
        include: Files and folders below the folder the servable's import path starts from, and
            dotted names of modules (a package with all beneath it) that no import statement names.

    Raises:
        InvalidServable: naming the file, module or class that cannot be bundled, and why.
    """
    cls = servable_class(servable)
    if CHECK_VARIABLE in os.environ:
        raise InvalidServable(
            f"importing the module of {cls.__qualname__!r} saves a model, which would never end.",
            hint='Put what the module does under: if __name__ == "__main__":',
        )
    origin = find_origin(cls)
    graph = Graph(origin.root)
    graph.locator.know(origin.module)
    graph.add_module(origin.module.name, wanted_by=f"class {cls.__qualname__!r}")
    _add_included(graph, include, origin.root)
    graph.follow()
    return Traced(
        files=dict(sorted(graph.files.items())),
        class_path=f"{origin.module.name}:{cls.__qualname__}",
        pins=sorted(graph.pins),
        notes=sorted(graph.notes),
    )


def _add_included(graph: Graph, include: Sequence[str | Path], root: Path) -> None:
    included = resolve_include(include, root)
    for archive_path, file in included.files.items():
        if graph.is_installed(file):
            raise InvalidServable(
                f"include {archive_path!r} is part of an installed distribution, which ships as a pin.",
                hint="Leave it out: the distribution brings its own files.",
            )
        graph.add_file(archive_path, file)
        name = module_name(archive_path)
        if name is not None:
            # A data folder may hold scripts that nobody imports: what they lack is no fault.
            graph.add_module(name, wanted_by=f"include {archive_path!r}", required=False)
    for name in included.modules:
        graph.add_module(name, wanted_by=f"include {name!r}")
        found = graph.locator.find(name)
        if found is not None and found.locations is not None and not graph.is_foreign(found):
            for submodule in package_modules(name, found.locations):
                graph.add_module(submodule, wanted_by=f"include {name!r}")
