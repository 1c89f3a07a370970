"""The import graph of a servable, grown module by module from source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from roost.bundle.imports import Import, find_exported_names, find_imports, parse_source
from roost.bundle.installed import Installed, is_standard_file
from roost.bundle.locate import Found, Locator
from roost.bundle.wanted import Wanted
from roost.bundle.worker import worker_has
from roost.errors import InvalidServable

_OURS: Final = "roost"
_RESERVED: Final = frozenset({"ray"})


class Graph:
    """Grows `files`, `pins` and `notes` from the modules and files it is given.

    `reasons` says why each file is there, and `pins` why each pin. `required=False` marks what the
    code goes on without: it ships when it is there.
    """

    def __init__(self, root: Path) -> None:
        self.files: dict[str, Path] = {}
        self.reasons: dict[str, str] = {}
        self.pins: dict[str, str] = {}
        self.notes: set[str] = set()
        self.locator = Locator(root)
        self._installed = Installed()
        self._seen: dict[str, bool] = {}
        self._standard: set[str] = set(sys.builtin_module_names)
        self._waiting: list[tuple[Found, bool]] = []

    def add_module(self, name: str, *, wanted: Wanted, required: bool = True) -> None:
        """Add a module and the packages it lies in.

        Raises:
            InvalidServable: it is required and cannot be found or shipped.
        """
        parts = name.split(".")
        if parts[0] == _OURS or self._is_standard(parts[0], wanted):
            return
        parent: Found | None = None
        for depth in range(1, len(parts) + 1):
            found = self.locator.find(".".join(parts[:depth]))
            if found is None:
                self._missing(".".join(parts[:depth]), parent, wanted, required)
                return
            self._take(found, name, wanted, required)
            parent = found

    def add_file(self, archive_path: str, file: Path, reason: str) -> None:
        """Add one file.

        Raises:
            InvalidServable: another file has this place already.
        """
        self.reasons.setdefault(archive_path, reason)
        holder = self.files.setdefault(archive_path, file)
        if holder != file and not holder.samefile(file):
            raise InvalidServable(
                f"{str(holder)!r} and {str(file)!r} would both be {archive_path!r} in the bundle.",
                hint="Rename one of them.",
            )

    def add_import(self, item: Import, wanted: Wanted, required: bool) -> None:
        """Add the module of an import statement, and the submodules it names.

        Raises:
            InvalidServable: as `add_module`.
        """
        self.add_module(item.module, wanted=wanted, required=required)
        found = self.locator.find(item.module) if item.names else None
        if found is None or found.locations is None or self.is_foreign(found):
            return
        for name in self._expanded(item.names, found):
            submodule = f"{item.module}.{name}"
            is_attribute = self.locator.find(submodule) is None and found.file is not None
            if not is_attribute:
                self.add_module(submodule, wanted=wanted, required=required)

    def follow(self) -> None:
        """Add all that the added modules import, and what that imports.

        Raises:
            InvalidServable: naming what cannot be found or shipped, and the line that wants it.
        """
        while self._waiting:
            found, required = self._waiting.pop()
            assert found.file is not None
            shown = str(found.file)
            tree = parse_source(found.file.read_bytes(), file=shown)
            is_package = found.locations is not None
            for item in find_imports(tree, module=found.name, is_package=is_package, file=shown):
                self.add_import(item, Wanted.at_line(found, item.line), required and item.required)
        self._refuse_shadowed()

    def is_installed(self, file: Path) -> bool:
        """Whether a distribution installed the file."""
        return self._installed.find_owner(file) is not None

    def is_foreign(self, found: Found) -> bool:
        """Whether a module is not the user's own."""
        top = found.name.partition(".")[0]
        if top == _OURS or top in sys.stdlib_module_names:
            return True
        return found.file is not None and self.is_installed(found.file)

    def _expanded(self, names: tuple[str, ...], package: Found) -> list[str]:
        if "*" not in names:
            return list(names)
        if package.file is None:
            return []
        return find_exported_names(parse_source(package.file.read_bytes(), file=str(package.file)))

    def _take(self, found: Found, asked: str, wanted: Wanted, required: bool) -> None:
        known = self._seen.get(found.name)
        if found.file is None or known or known is required:
            return
        owner = self._installed.find_owner(found.file)
        if owner is not None:
            self._seen[found.name] = True
            if not worker_has(owner.name):
                self.pins.setdefault(owner.pin, wanted.reason)
                self.notes.update([owner.note] if owner.note else [])
            return
        fault = _find_fault(found.file)
        if fault is not None:
            if required:
                raise InvalidServable(
                    f"{wanted.by} needs {found.name!r}, which {fault} ({str(found.file)!r}); "
                    "only source files are bundled.",
                    hint="Install it as a distribution, here and on the workers.",
                )
            return
        self._seen[found.name] = required
        note = self._installed.find_editable_note(found.name, found.file)
        self.notes.update([note] if note else [])
        reason = wanted.reason if found.name == asked else f"package of {asked}"
        self.add_file(found.archive_path, found.file, reason)
        self._waiting.append((found, required))

    def _missing(self, name: str, parent: Found | None, wanted: Wanted, required: bool) -> None:
        # Packages may make submodules as they run: six.moves, or an alias in sys.modules.
        made_at_run_time = name in sys.modules or (parent is not None and self.is_foreign(parent))
        if not required or made_at_run_time or (parent is None and worker_has(name)):
            return
        raise InvalidServable(
            f"{wanted.by} needs the module {name!r}, which is not found.",
            hint="Install it here, or guard its import with try/except ImportError when it is optional.",
        )

    def _is_standard(self, top: str, wanted: Wanted) -> bool:
        if top in self._standard:
            return True
        if top not in sys.stdlib_module_names and top not in _RESERVED:
            return False
        found = self.locator.find_on_path(top)
        file = found.file if found is not None else None
        if file is not None and not is_standard_file(file) and not self.is_installed(file):
            raise InvalidServable(
                f"{wanted.by} needs {top!r}, but {str(file)!r} hides the worker's module of that name.",
                hint="Rename the file.",
            )
        if top in _RESERVED:
            return False
        self._standard.add(top)
        return True

    def _refuse_shadowed(self) -> None:
        """Refuse a module file beside a package of the same name: one would hide the other."""
        sources = [path for path in self.files if path.endswith(".py")]
        packages = {path[:cut] for path in sources for cut in range(len(path)) if path[cut] == "/"}
        for path in sources:
            if path.removesuffix(".py") in packages:
                raise InvalidServable(
                    f"{str(self.files[path])!r} would be {path!r} in the bundle, "
                    "beside a package of that name.",
                    hint="Rename one of them.",
                )


def _find_fault(file: Path) -> str | None:
    """Why a module's file cannot be bundled; None when it can."""
    if file.suffix != ".py":
        return "is compiled"
    return None if file.is_file() else "lies inside an archive"
