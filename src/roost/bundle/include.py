"""Resolves what a caller adds by hand: data files, folders and modules imported dynamically."""

from __future__ import annotations

import mimetypes
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.errors import InvalidServable

_DOTTED_NAME: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_NEVER_SHIPPED: Final = frozenset({"__pycache__", ".git", ".hg", ".svn"})


@dataclass(frozen=True, slots=True)
class Included:
    """What `include` resolved to: archive path → file, and dotted names of modules."""

    files: dict[str, Path]
    modules: list[str]


def resolve_include(entries: object, root: Path) -> Included:
    """Resolve each entry: a file or folder below `root` when there is one, else a module's name.

    Raises:
        InvalidServable: an entry that is neither, or that leaves `root`.
    """
    if isinstance(entries, str | Path):
        raise InvalidServable(
            f"include {str(entries)!r} is a single path.", hint=f"Write include=({str(entries)!r},)."
        )
    if isinstance(entries, bytes) or not isinstance(entries, Iterable):
        raise InvalidServable(
            f"include={entries!r:.80} is not a list of paths and names of modules.",
            hint="Write include=('labels.txt',), for example.",
        )
    included = Included({}, [])
    for entry in entries:
        if not isinstance(entry, str | Path):
            raise InvalidServable(
                f"include holds {entry!r:.80}, which is neither a path nor the name of a module.",
                hint="Write each entry as text or a pathlib.Path.",
            )
        path = Path(os.path.normpath(root / entry))
        if str(entry) and path.exists():
            included.files.update(_files(entry, path, root))
        elif isinstance(entry, str) and _DOTTED_NAME.fullmatch(entry) and not _looks_like_file(entry):
            included.modules.append(entry)
        else:
            raise InvalidServable(
                f"include {str(entry)!r} does not exist below {str(root)!r}.",
                hint="Write a path relative to that folder, or the dotted name of a module.",
            )
    return included


def _looks_like_file(entry: str) -> bool:
    """Whether a dotted text ends as data files do: `labels.txt` is no module `txt` of `labels`."""
    # A table of its own: the module's functions also read the machine's.
    return mimetypes.MimeTypes().guess_type(entry)[0] is not None


def package_modules(name: str, locations: Sequence[str]) -> list[str]:
    """The dotted names of all source modules beneath a package."""
    names: set[str] = set()
    for location in locations:
        for file in _walk(Path(location), Path(location)):
            parts = file.relative_to(location).with_suffix("").parts
            stem = parts[:-1] if parts[-1] == "__init__" else parts
            if file.suffix == ".py" and all(part.isidentifier() for part in stem):
                names.add(".".join([name, *stem]))
    return sorted(names)


def module_name(archive_path: str) -> str | None:
    """The dotted name a `.py` file of a bundle is imported by; None when it has none."""
    if not archive_path.endswith(".py"):
        return None
    parts = archive_path.removesuffix(".py").split("/")
    stem = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(stem) if stem and all(part.isidentifier() for part in stem) else None


def _files(entry: str | Path, path: Path, root: Path) -> dict[str, Path]:
    if not path.is_relative_to(root):
        raise InvalidServable(
            f"include {str(entry)!r} leaves {str(root)!r}, so it has no place in the bundle.",
            hint="Move the file beside the code that reads it.",
        )
    found = [path] if not path.is_dir() else list(_walk(path, root))
    for file in found:
        if not file.is_file():
            raise InvalidServable(f"include {str(entry)!r} holds {str(file)!r}, which is not a regular file.")
    return {file.relative_to(root).as_posix(): file for file in found}


def _walk(folder: Path, root: Path) -> Iterator[Path]:
    for current, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NEVER_SHIPPED)
        for name in folders:
            if Path(current, name).is_symlink():
                raise InvalidServable(
                    f"{Path(current, name).relative_to(root).as_posix()!r} is a link to a folder, "
                    "which a bundle cannot hold.",
                    hint="Put the folder itself there, or include its files one by one.",
                )
        yield from (Path(current, name) for name in sorted(names) if not name.endswith(".pyc"))
