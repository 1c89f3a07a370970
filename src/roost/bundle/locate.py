"""Finds modules by name without importing anything, the parents included."""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Final

_OWN_FINDERS: Final[frozenset[str]] = frozenset({"BuiltinImporter", "FrozenImporter", "PathFinder"})


@dataclass(frozen=True, slots=True)
class Found:
    """A module on disk.

    Attributes:
        name: Absolute dotted name.
        file: Its file; None for a namespace package.
        locations: Where its submodules are searched; None for a plain module.
    """

    name: str
    file: Path | None
    locations: tuple[str, ...] | None

    @property
    def archive_path(self) -> str:
        """Where its source stands in a bundle."""
        stem = self.name.replace(".", "/")
        return f"{stem}.py" if self.locations is None else f"{stem}/__init__.py"


class Locator:
    """Finds modules the way this process would import them now.

    A top-level module that is already imported is found where it came from; else `sys.path` and
    `root` are searched, then the import hooks of editable installs.
    """

    def __init__(self, root: Path) -> None:
        importlib.invalidate_caches()
        path = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100  # "" is the working directory
        self._path = path if str(root) in path else [*path, str(root)]
        self._known: dict[str, Found | None] = {}

    def know(self, found: Found) -> None:
        """Answer `found` for its name from now on."""
        self._known[found.name] = found

    def find(self, name: str) -> Found | None:
        """The module, or None when this process could not import it from a file."""
        if name not in self._known:
            self._known[name] = self._search(name)
        return self._known[name]

    def find_on_path(self, top: str) -> Found | None:
        """A top-level module on the search path, whatever is imported already."""
        return _found(_search_path(top, self._path))

    def _search(self, name: str) -> Found | None:
        parent_name, _, _ = name.rpartition(".")
        if not parent_name:
            found = _imported(name) or self.find_on_path(name) or _found(_hooked(name))
            return _extended(found, self._path)
        parent = self.find(parent_name)
        if parent is None or parent.locations is None:
            return None
        return _extended(_found(_search_path(name, parent.locations)), parent.locations)


def _imported(top: str) -> Found | None:
    module: Any = sys.modules.get(top)
    if module is None or top == "__main__":
        return None
    file = getattr(module, "__file__", None)
    locations = getattr(module, "__path__", None)
    if not isinstance(file, str) and not locations:
        return None
    return Found(
        top,
        Path(file).absolute() if isinstance(file, str) else None,
        None if locations is None else tuple(locations),
    )


def _extended(found: Found | None, path: Iterable[str]) -> Found | None:
    """A package with the folders its own code adds to `__path__`: seen when it is imported, else foreseen."""
    if found is None or found.locations is None:
        return found
    more: list[str] = list(getattr(sys.modules.get(found.name), "__path__", ()))
    if found.file is not None and found.file.is_file() and b"extend_path(" in found.file.read_bytes():
        tail = found.name.rpartition(".")[2]
        more += [folder for folder in (os.path.join(entry, tail) for entry in path) if os.path.isdir(folder)]  # noqa: PTH112, PTH118
    return replace(found, locations=tuple(dict.fromkeys([*found.locations, *more])))


def _search_path(name: str, path: Iterable[str]) -> ModuleSpec | None:
    """What `PathFinder` finds; it cannot be asked itself, for it wants the parents imported."""
    portions: list[str] = []
    for entry in path:
        finder: Any = pkgutil.get_importer(entry)
        spec: ModuleSpec | None = finder.find_spec(name) if finder is not None else None
        if spec is None:
            continue
        if spec.loader is not None:
            return spec
        portions += spec.submodule_search_locations or ()
    if not portions:
        return None
    namespace = ModuleSpec(name, None, is_package=True)
    namespace.submodule_search_locations = portions
    return namespace


def _hooked(top: str) -> ModuleSpec | None:
    for hook in sys.meta_path:
        find_spec = getattr(hook, "find_spec", None)
        if getattr(hook, "__name__", "") in _OWN_FINDERS or find_spec is None:
            continue
        spec: ModuleSpec | None = find_spec(top, None, None)
        if spec is not None:
            return spec
    return None


def _found(spec: ModuleSpec | None) -> Found | None:
    if spec is None:
        return None
    locations: Sequence[str] | None = spec.submodule_search_locations
    file = Path(spec.origin).absolute() if spec.has_location and spec.origin else None
    if file is None and locations is None:
        return None
    return Found(spec.name, file, None if locations is None else tuple(locations))
