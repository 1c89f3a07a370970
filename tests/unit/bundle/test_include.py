from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from roost.bundle import trace
from roost.errors import InvalidServable

Write = Callable[[dict[str, str]], None]
Servable = Callable[..., type]


def test_files_folders_and_modules(servable: Servable, write: Write) -> None:
    write(
        {
            "data/labels.txt": "cat",
            "assets/a.json": "{}",
            "assets/deep/b.bin": "",
            "assets/__pycache__/c.pyc": "",
            "assets/.git/config": "",
            "pkg/__init__.py": "",
            "pkg/dynamic.py": "import needed",
            "needed.py": "",
        }
    )
    traced = trace(servable(), include=("data/labels.txt", Path("assets"), "pkg.dynamic"))
    assert list(traced.files) == [
        "app.py",
        "assets/a.json",
        "assets/deep/b.bin",
        "data/labels.txt",
        "needed.py",
        "pkg/__init__.py",
        "pkg/dynamic.py",
    ]


def test_paths_start_where_the_import_path_starts(servable: Servable, write: Write) -> None:
    write({"pkg/__init__.py": "", "pkg/labels.txt": ""})
    traced = trace(servable(module="pkg.app"), include=("pkg/labels.txt",))
    assert (traced.class_path, list(traced.files)) == (
        "pkg.app:App",
        ["pkg/__init__.py", "pkg/app.py", "pkg/labels.txt"],
    )


def test_an_absolute_path_below_the_root_is_taken(servable: Servable, write: Write, root: Path) -> None:
    write({"labels.txt": ""})
    assert "labels.txt" in trace(servable(), include=(root / "labels.txt",)).files


def test_a_package_brings_all_beneath_it(servable: Servable, write: Write, root: Path) -> None:
    write(
        {
            "kit/plugins/__init__.py": "",
            "kit/plugins/a.py": "import extra",
            "kit/plugins/b/c.py": "",
            "extra.py": "",
        }
    )
    assert list(trace(servable(), include=("kit.plugins",)).files) == [
        "app.py",
        "extra.py",
        "kit/plugins/__init__.py",
        "kit/plugins/a.py",
        "kit/plugins/b/c.py",
    ]


def test_source_files_given_as_paths_bring_what_they_import(servable: Servable, write: Write) -> None:
    write(
        {"plugins/a.py": "import extra, not_there", "plugins/bad-name.py": "import not_there", "extra.py": ""}
    )
    assert list(trace(servable(), include=("plugins",)).files) == [
        "app.py",
        "extra.py",
        "plugins/a.py",
        "plugins/bad-name.py",
    ]


def test_an_installed_module_becomes_a_pin(servable: Servable, install: Callable[..., Path]) -> None:
    install("plug-in", "2.1", {"plug_in/__init__.py": "", "plug_in/data.txt": ""})
    traced = trace(servable(), include=("plug_in",))
    assert (list(traced.files), traced.pins) == (["app.py"], ["plug-in==2.1"])


@pytest.mark.parametrize("entry", ["../secret.txt", "pkg/../../secret.txt"])
def test_nothing_outside_the_root_is_taken(
    servable: Servable, write: Write, tmp_path: Path, entry: str
) -> None:
    write({"pkg/__init__.py": ""})
    (tmp_path / "secret.txt").write_text("")
    for given in (entry, tmp_path / "secret.txt"):
        with pytest.raises(InvalidServable, match=r"include '.*secret\.txt' leaves '.*src'"):
            trace(servable(), include=(given,))


@pytest.mark.parametrize("entry", ["no/such.txt", "", "no such", Path("nothing")])
def test_what_does_not_exist_is_named(servable: Servable, entry: str | Path) -> None:
    with pytest.raises(InvalidServable, match=r"include '.*' does not exist below"):
        trace(servable(), include=(entry,))


def test_a_module_that_does_not_exist_is_named(servable: Servable) -> None:
    with pytest.raises(InvalidServable, match=r"include 'no_such\.module' needs the module 'no_such'"):
        trace(servable(), include=("no_such.module",))


def test_a_bare_string_is_refused(servable: Servable) -> None:
    with pytest.raises(InvalidServable, match=r"include 'data' is a single path"):
        trace(servable(), include="data")


def test_links_to_folders_are_refused_and_links_to_files_ship_by_content(
    servable: Servable, write: Write, root: Path
) -> None:
    write({"data/a.txt": "a"})
    (root / "data" / "b.txt").symlink_to("a.txt")
    assert list(trace(servable(), include=("data",)).files) == ["app.py", "data/a.txt", "data/b.txt"]
    (root / "data" / "up").symlink_to(root)
    with pytest.raises(InvalidServable, match=r"'data/up' is a link to a folder"):
        trace(servable(), include=("data",))
