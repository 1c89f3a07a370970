"""Folders on the import path that a test fills: the user's modules, and installed ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A source folder, first on the import path; what was imported from it is forgotten afterwards."""
    folder = tmp_path / "src"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    _forget_modules(tmp_path.parent)  # also those that tests elsewhere wrote and left imported
    yield folder
    _forget_modules(tmp_path.parent)


def _forget_modules(below: Path) -> None:
    """Drop the modules that were imported from below a folder."""
    for name, module in list(sys.modules.items()):
        if str(below) in f"{getattr(module, '__file__', '')} {getattr(module, '__path__', '')}":
            del sys.modules[name]


@pytest.fixture
def write(root: Path) -> Callable[[dict[str, str]], None]:
    """Writes files below `root`: path → text."""

    def _write(files: dict[str, str]) -> None:
        _write_all(root, files)

    return _write


@pytest.fixture
def servable(root: Path) -> Callable[..., type]:
    """Writes a class `App` after `source` into a module, imports it and returns the class."""

    def _servable(source: str = "", module: str = "app") -> type:
        _write_all(root, {f"{module.replace('.', '/')}.py": f"{source}\nclass App: ...\n"})
        importlib.invalidate_caches()
        cls = importlib.import_module(module).App
        assert isinstance(cls, type)
        return cls

    return _servable


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Installs a distribution into a site-packages folder on the path and returns that folder."""
    site = tmp_path / "env" / "site-packages"
    site.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(site))

    def _install(name: str, version: str, files: dict[str, str], direct_url: str | None = None) -> Path:
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        texts = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", **files}
        if direct_url is not None:
            texts[f"{info}/direct_url.json"] = direct_url
        texts[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*texts, f"{info}/RECORD"])
        _write_all(site, texts)
        return site

    return _install


def _write_all(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
