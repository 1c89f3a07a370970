"""Tells installed files from the user's own, and which distribution a file belongs to."""

from __future__ import annotations

import json
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

_SITE_NAMES: Final = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True, slots=True)
class Owner:
    """The distribution a file was installed by.

    Attributes:
        pin: `name==version`, without a local version label: it matches any local build.
        note: What the pin does not say, in one sentence; None for a release from an index.
    """

    name: str
    pin: str
    note: str | None


def installed_path() -> list[str]:
    """The entries of `sys.path` that hold installed distributions, in order."""
    roots = _site_dirs()
    entries = [os.path.abspath(entry) for entry in sys.path if entry]  # noqa: PTH100
    return [entry for entry in entries if _is_below(entry, roots)]


def is_standard_file(file: Path) -> bool:
    """Whether a file belongs to the standard library."""
    roots = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    resolved = {os.path.realpath(root) for root in roots}
    return _is_below(str(file), roots | resolved) and not _is_below(str(file), _site_dirs())


class Installed:
    """What is installed for this interpreter, read once and as far as it is asked for."""

    def __init__(self) -> None:
        self._dirs = sorted({*_site_dirs(), *installed_path()}, key=len, reverse=True)
        self._indexes: dict[str, _Index] = {}
        self._editables: list[_Editable] | None = None

    def find_owner(self, file: Path) -> Owner | None:
        """The distribution that installed `file`; None for the user's own files.

        The source of an editable install is the user's own.
        """
        directory = next((entry for entry in self._dirs if _is_below(str(file), {entry})), None)
        if directory is None:
            return None
        relative = file.relative_to(directory).as_posix()
        if directory not in self._indexes:
            self._indexes[directory] = _Index(directory)
        return self._indexes[directory].find_owner(relative)

    def find_editable_note(self, module: str, file: Path) -> str | None:
        """What to tell of a module that an editable install makes importable; None for any other."""
        if self._editables is None:
            self._editables = list(_editables(self._dirs))
        top = canonicalize_name(module.partition(".")[0])
        for editable in self._editables:
            if top in editable.tops and file.is_relative_to(editable.folder):
                return (
                    f"{editable.name} is an editable install here: its source is in the bundle as it is now, "
                    "and no pin asks for it."
                )
        return None


@dataclass(frozen=True, slots=True)
class _Editable:
    """An editable install: its project's folder, and the top-level names it offers."""

    name: str
    folder: Path
    tops: frozenset[str]


class _Index:
    """Who installed what in one folder."""

    def __init__(self, directory: str) -> None:
        self._by_file: dict[str, metadata.Distribution] = {}
        self._by_name: dict[str, metadata.Distribution] = {}
        for distribution in metadata.distributions(path=[directory]):
            record = distribution.read_text("RECORD")
            for line in (record or "").splitlines():
                self._by_file[line.partition(",")[0]] = distribution
            if not record:
                self._by_name.update(dict.fromkeys(_unrecorded_names(distribution), distribution))

    def find_owner(self, relative: str) -> Owner | None:
        top = relative.partition("/")[0].removesuffix(".py")
        distribution = self._by_file.get(relative) or self._by_name.get(top)
        return _owner(distribution) if distribution is not None else None


def _site_dirs() -> set[str]:
    named = [entry for entry in sys.path if Path(entry).name in _SITE_NAMES]
    paths = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages(), *named]
    if site.ENABLE_USER_SITE:
        paths.append(site.getusersitepackages())
    absolute = {os.path.abspath(path) for path in paths}  # noqa: PTH100
    return absolute | {os.path.realpath(path) for path in absolute}


def _is_below(path: str, roots: set[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def _unrecorded_names(distribution: metadata.Distribution) -> set[str]:
    # Packages of the operating system come without a RECORD.
    listed = (distribution.read_text("top_level.txt") or "").split()
    return {*listed, (distribution.name or "").replace("-", "_")}


def _owner(distribution: metadata.Distribution) -> Owner:
    name = canonicalize_name(distribution.name)
    try:
        version = Version(distribution.version)
    except InvalidVersion:
        return Owner(name, f"{name}=={distribution.version}", None)
    pin = f"{name}=={version.public}"
    if version.local is not None:
        return Owner(name, pin, f"{name} {version} is a local build here; {pin!r} accepts any build of it.")
    if _is_from_elsewhere(distribution):
        return Owner(
            name, pin, f"{name} was not installed from an index; the workers must be able to get {pin!r}."
        )
    return Owner(name, pin, None)


def _editables(directories: Iterable[str]) -> Iterator[_Editable]:
    for distribution in metadata.distributions(path=list(directories)):
        origin = _direct_url(distribution)
        if origin is None or not _is_editable(origin):
            continue
        folder = url2pathname(urlsplit(str(origin.get("url", ""))).path)
        name = canonicalize_name(distribution.name)
        listed = (distribution.read_text("top_level.txt") or "").split()
        tops = frozenset({name, *map(canonicalize_name, listed)})
        yield _Editable(name, Path(folder).absolute(), tops)


def _is_from_elsewhere(distribution: metadata.Distribution) -> bool:
    origin = _direct_url(distribution)
    return origin is not None and not _is_editable(origin)


def _direct_url(distribution: metadata.Distribution) -> dict[str, Any] | None:
    """Where it was installed from (PEP 610); None for an index, empty when it is not readable."""
    text = distribution.read_text("direct_url.json")
    if not text:
        return None
    try:
        origin = json.loads(text)
    except ValueError:
        return {}
    return origin if isinstance(origin, dict) else {}


def _is_editable(origin: Mapping[str, Any]) -> bool:
    info = origin.get("dir_info")
    return isinstance(info, dict) and bool(info.get("editable"))
