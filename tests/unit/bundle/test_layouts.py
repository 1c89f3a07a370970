"""Projects as people lay them out."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.bundle import Traced, pack, trace
from roost.bundle.read import read
from roost.errors import InvalidServable

Write = Callable[[dict[str, str]], None]
Servable = Callable[..., type]
Install = Callable[..., Path]


def shipped(traced: Traced, path: str) -> bytes:
    bundle = pack(traced)
    return read(bundle.data, bundle.fingerprint).contents[path]


def test_a_project_with_a_src_folder(
    servable: Servable, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script lies beside `src`, which an editable install or PYTHONPATH makes importable."""
    library = tmp_path / "project" / "src" / "lib"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("from .core import run")
    (library / "core.py").write_text("def run(): ...")
    monkeypatch.syspath_prepend(str(library.parent))
    assert list(trace(servable("from lib import run")).files) == ["app.py", "lib/__init__.py", "lib/core.py"]


def test_a_package_whose_init_imports_all_of_it(servable: Servable, write: Write) -> None:
    write(
        {
            "kit/__init__.py": "from .a import *\nfrom . import b",
            "kit/a.py": "from .b import helper",
            "kit/b.py": "def helper(): ...\nfrom kit import a",
            "kit/sub/__init__.py": "from ..a import helper",
            "kit/sub/c.py": "",
        }
    )
    traced = trace(servable("from kit.sub import c"))
    assert list(traced.files) == [
        "app.py",
        "kit/__init__.py",
        "kit/a.py",
        "kit/b.py",
        "kit/sub/__init__.py",
        "kit/sub/c.py",
    ]


def test_imports_under_conditions(servable: Servable, write: Write) -> None:
    write({"fast.py": "", "slow.py": "", "win.py": "", "typed.py": ""})
    source = """
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import typed
if find_spec("not_there") is not None:
    import not_there
if sys.platform == "win32":
    import win, not_there_either
if len(sys.argv) > 1000:
    import fast
else:
    import slow
"""
    assert list(trace(servable(source)).files) == ["app.py", "fast.py", "slow.py", "win.py"]


def test_modules_imported_by_a_literal_name(servable: Servable, write: Write) -> None:
    write(
        {
            "kit/__init__.py": "import importlib\ndef f():\n    importlib.import_module('.lazy', __name__)",
            "kit/lazy.py": "from importlib import import_module as m\nimport importlib\n"
            "def f():\n    importlib.import_module('.other', package=__package__)",
            "kit/other.py": "def f(name):\n    __import__(name)",
            "plug.py": "",
        }
    )
    traced = trace(servable("import kit, importlib\ndef f():\n    importlib.import_module('plug')"))
    assert list(traced.files) == [
        "app.py",
        "kit/__init__.py",
        "kit/lazy.py",
        "kit/other.py",
        "plug.py",
    ]


def test_a_module_with_the_name_of_a_distribution_ships_as_source(
    servable: Servable, write: Write, install: Install, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here it hides the installed one, and in the bundle, which is searched first, it does, too."""
    install("toml-kit", "1", {"tomlkit2.py": ""})
    write({"tomlkit2.py": "own = True"})
    monkeypatch.syspath_prepend(str(root))
    traced = trace(servable("import tomlkit2"))
    assert (list(traced.files), traced.pins) == (["app.py", "tomlkit2.py"], [])


def test_stubs_are_neither_followed_nor_shipped(servable: Servable, write: Write) -> None:
    write({"kit/__init__.py": "", "kit/part.py": "", "kit/part.pyi": "import not_there", "kit/py.typed": ""})
    traced = trace(servable("import kit.part"))
    assert list(traced.files) == ["app.py", "kit/__init__.py", "kit/part.py"]
    write({"only_stub.pyi": ""})
    cls = servable("def f():\n    import only_stub", module="app2")
    with pytest.raises(InvalidServable, match=r"needs the module 'only_stub'"):
        trace(cls)


def test_a_module_inside_an_archive_is_refused_by_name(
    servable: Servable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", "from . import part")
        archive.writestr("zipped/part.py", "")
    monkeypatch.syspath_prepend(str(tmp_path / "lib.zip"))
    with pytest.raises(
        InvalidServable, match=r"line 2 of '.*app\.py' needs 'zipped', which lies inside an archive"
    ) as caught:
        trace(servable("def f():\n    import zipped"))
    assert caught.value.hint == "Install it as a distribution, here and on the workers."
    guarded = "def f():\n    try:\n        import zipped\n    except ImportError:\n        pass"
    assert list(trace(servable(guarded, module="app2")).files) == ["app2.py"]


def test_linked_packages_and_modules_ship_by_content(
    servable: Servable, write: Write, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere" / "real").mkdir(parents=True)
    (tmp_path / "elsewhere" / "real" / "__init__.py").write_text("from . import part")
    (tmp_path / "elsewhere" / "real" / "part.py").write_text("x = 1")
    (root / "linked").symlink_to(tmp_path / "elsewhere" / "real")
    (root / "alias.py").symlink_to(tmp_path / "elsewhere" / "real" / "part.py")
    traced = trace(servable("import linked.part, alias"))
    assert list(traced.files) == ["alias.py", "app.py", "linked/__init__.py", "linked/part.py"]
    assert shipped(traced, "alias.py") == b"x = 1"


def test_files_in_other_encodings_ship_byte_for_byte(servable: Servable, write: Write, root: Path) -> None:
    latin = "# -*- coding: latin-1 -*-\nimport wide\nname = 'é'\n".encode("latin-1")
    (root / "latin.py").write_bytes(latin)
    (root / "wide.py").write_bytes(b"\xef\xbb\xbfimport last\r\n")
    (root / "last.py").write_bytes("x = 'ü'  # no newline at the end".encode())
    traced = trace(servable("import latin"))
    assert list(traced.files) == ["app.py", "last.py", "latin.py", "wide.py"]
    assert shipped(traced, "latin.py") == latin


def test_an_encoding_that_python_does_not_read_is_named(servable: Servable, root: Path) -> None:
    (root / "odd.py").write_bytes(b"# coding: no-such-thing\n")
    with pytest.raises(InvalidServable, match=r"odd\.py' is not readable as Python"):
        trace(servable("def f():\n    import odd"))


@pytest.mark.parametrize("is_imported", [True, False])
def test_a_package_in_two_folders_by_extend_path(
    servable: Servable, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_imported: bool
) -> None:
    extend = "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\n"
    write({"big/__init__.py": extend, "big/here.py": "from big import there", "big/deep/__init__.py": extend})
    (tmp_path / "second" / "big" / "deep").mkdir(parents=True)
    (tmp_path / "second" / "big" / "there.py").write_text("import big.deep.far")
    (tmp_path / "second" / "big" / "deep" / "far.py").write_text("")
    (tmp_path / "second" / "big" / "deep" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "second"))
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    if is_imported:
        importlib.import_module("big.here")
    traced = trace(servable("def f():\n    import big.here"))
    assert list(traced.files) == [
        "app.py",
        "big/__init__.py",
        "big/deep/__init__.py",
        "big/deep/far.py",
        "big/here.py",
        "big/there.py",
    ]


def test_a_package_that_appends_a_folder_to_its_path(servable: Servable, write: Write) -> None:
    write(
        {
            "own/__init__.py": "import os\n__path__.append(os.path.join(__path__[0], 'vendored'))",
            "own/vendored/extra.py": "",
        }
    )
    traced = trace(servable("import own.extra"))
    assert list(traced.files) == ["app.py", "own/__init__.py", "own/extra.py"]


def test_one_module_path_in_two_roots_is_refused(
    servable: Servable, write: Write, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the process has imported from one root, and what `include` names in another."""
    write({"pkg/__init__.py": "", "pkg/labels.py": "kind = 1"})
    other = tmp_path / "other"
    (other / "pkg").mkdir(parents=True)
    (other / "pkg" / "__init__.py").write_text("")
    (other / "pkg" / "labels.py").write_text("kind = 2")
    cls = servable("def f():\n    import pkg.labels")
    monkeypatch.syspath_prepend(str(other))
    with pytest.raises(InvalidServable) as caught:
        trace(cls, include=("pkg/labels.py",))
    assert caught.value.message == (
        f"{str(root / 'pkg' / 'labels.py')!r} and {str(other / 'pkg' / 'labels.py')!r} "
        "would both be 'pkg/labels.py' in the bundle."
    )
    assert caught.value.hint == "Rename one of them."


def test_a_package_run_as_a_script_ships_under_its_dotted_name(
    write: Write, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"kit/__init__.py": "", "kit/__main__.py": "from . import near", "kit/near.py": ""})
    main = type(sys)("__main__")
    main.__file__ = str(root / "kit" / "__main__.py")
    main.__spec__ = importlib.util.spec_from_file_location("kit.__main__", main.__file__)
    main.__dict__["Served"] = served = type("Served", (), {"__module__": "__main__"})
    monkeypatch.setitem(sys.modules, "__main__", main)
    traced = trace(served)
    assert (traced.class_path, list(traced.files)) == (
        "kit.__main__:Served",
        ["kit/__init__.py", "kit/__main__.py", "kit/near.py"],
    )
