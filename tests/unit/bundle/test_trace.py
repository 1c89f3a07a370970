from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

from roost.bundle import pack, trace
from roost.errors import InvalidServable

Write = Callable[[dict[str, str]], None]
Servable = Callable[..., type]


def test_a_lone_module_ships_itself(servable: Servable, root: Path) -> None:
    traced = trace(servable("import json, sys, os.path"))
    assert traced.files == {"app.py": root / "app.py"}
    assert (traced.class_path, traced.pins, traced.notes) == ("app:App", [], [])


def test_a_nested_class_keeps_its_qualified_name(servable: Servable) -> None:
    outer = servable("class Outer:\n    class Inner: ...\n")
    inner = sys.modules[outer.__module__].Outer.Inner
    assert trace(inner).class_path == "app:Outer.Inner"


def test_own_modules_ship_with_their_init_chain(servable: Servable, write: Write) -> None:
    write(
        {
            "pkg/__init__.py": "",
            "pkg/deep/__init__.py": "from .. import sibling",
            "pkg/deep/mod.py": "",
            "pkg/sibling.py": "import other",
            "other.py": "",
            "unused.py": "",
            "pkg/unused.py": "",
        }
    )
    assert list(trace(servable("import pkg.deep.mod")).files) == [
        "app.py",
        "other.py",
        "pkg/__init__.py",
        "pkg/deep/__init__.py",
        "pkg/deep/mod.py",
        "pkg/sibling.py",
    ]


def test_nothing_is_run_that_was_not_imported(servable: Servable, write: Write) -> None:
    write({"lazy/__init__.py": "raise SystemExit", "lazy/part.py": "raise SystemExit"})
    traced = trace(servable("def f():\n    from lazy import part\n    from lazy.part import x\n"))
    assert list(traced.files) == ["app.py", "lazy/__init__.py", "lazy/part.py"]
    assert "lazy" not in sys.modules


def test_from_package_import_tells_modules_from_attributes(servable: Servable, write: Write) -> None:
    write({"pkg/__init__.py": "value = 1", "pkg/part.py": ""})
    assert list(trace(servable("from pkg import value, part")).files) == [
        "app.py",
        "pkg/__init__.py",
        "pkg/part.py",
    ]


def test_a_star_import_brings_the_modules_it_exports(servable: Servable, write: Write) -> None:
    write({"pkg/__init__.py": "__all__ = ['part']", "pkg/part.py": "", "pkg/other.py": ""})
    assert list(trace(servable("from pkg import *")).files) == ["app.py", "pkg/__init__.py", "pkg/part.py"]


def test_namespace_packages_ship_without_init(servable: Servable, write: Write) -> None:
    write({"space/inner/mod.py": "from space.inner import twin", "space/inner/twin.py": ""})
    traced = trace(servable("from space.inner import mod"))
    assert list(traced.files) == ["app.py", "space/inner/mod.py", "space/inner/twin.py"]


def test_import_cycles_end(servable: Servable, write: Write) -> None:
    write({"a.py": "import b", "b.py": "import a\nimport app"})
    assert list(trace(servable("def f():\n    import a")).files) == ["a.py", "app.py", "b.py"]


def test_an_optional_module_ships_when_it_is_there(servable: Servable, write: Write) -> None:
    write({"fast.py": "import not_there_either"})
    guarded = "try:\n    import {0}\nexcept ImportError:\n    {0} = None\n"
    traced = trace(servable(guarded.format("fast") + guarded.format("not_there")))
    assert list(traced.files) == ["app.py", "fast.py"]


def test_what_one_import_requires_stays_required(servable: Servable, write: Write) -> None:
    write({"both.py": "def f():\n    import not_there"})
    with pytest.raises(InvalidServable, match=r"line 2 of '.*both\.py'"):
        trace(servable("try:\n    import both\nexcept ImportError:\n    pass\nimport both"))


@pytest.mark.parametrize("name", ["not_there", "pkg.not_there", "app.not_there"])
def test_a_missing_module_is_named_with_the_line_that_wants_it(
    servable: Servable, write: Write, name: str
) -> None:
    write({"pkg/__init__.py": ""})
    with pytest.raises(InvalidServable, match=rf"line 3 of '.*app\.py' needs the module '{name}'") as caught:
        trace(servable(f"\ndef f():\n    import {name}"))
    assert caught.value.hint is not None
    assert "try/except ImportError" in caught.value.hint


def test_broken_source_of_a_dependency_is_named(servable: Servable, write: Write) -> None:
    write({"broken.py": "def ("})
    with pytest.raises(InvalidServable, match=r"broken\.py' is not readable as Python"):
        trace(servable("def f():\n    import broken"))


def test_compiled_modules_are_refused_unless_optional(servable: Servable, write: Write) -> None:
    write({f"speed{EXTENSION_SUFFIXES[-1]}": ""})
    with pytest.raises(InvalidServable, match=r"needs 'speed', which is compiled"):
        trace(servable("def f():\n    import speed"))
    guarded = "def f():\n    try:\n        import speed\n    except ImportError:\n        pass"
    assert list(trace(servable(guarded, module="app2")).files) == ["app2.py"]


def test_a_module_that_hides_the_workers_is_refused(servable: Servable, write: Write) -> None:
    write({"queue.py": "", "ray/__init__.py": ""})
    for name in ("queue", "ray"):
        with pytest.raises(InvalidServable, match=rf"needs '{name}', but '.*' hides the worker's module"):
            trace(servable(f"def f():\n    import {name}", module=f"uses_{name}"))


def test_a_module_beside_a_package_of_its_name_is_refused(servable: Servable, write: Write) -> None:
    write({"pkg/__init__.py": "", "pkg/mod.py": "", "pkg.py": ""})
    with pytest.raises(InvalidServable, match=r"beside a package of that name"):
        trace(servable("import pkg.mod"), include=("pkg.py",))


def test_two_files_at_one_path_are_refused(servable: Servable, write: Write, tmp_path: Path) -> None:
    write({"data.py": ""})
    (tmp_path / "data.py").write_text("")
    cls = servable()
    module = ModuleType("data")
    module.__file__ = str(tmp_path / "data.py")
    sys.modules["data"] = module
    with pytest.raises(InvalidServable, match=r"would both be 'data\.py'"):
        trace(cls, include=("data.py", "data"))


def test_a_module_alias_made_at_run_time_is_not_missing(servable: Servable, write: Write) -> None:
    write(
        {
            "pkg/__init__.py": "import sys\nfrom . import real\nsys.modules['pkg.alias'] = real",
            "pkg/real.py": "",
        }
    )
    assert list(trace(servable("import pkg.alias")).files) == ["app.py", "pkg/__init__.py", "pkg/real.py"]


def test_roost_and_what_workers_have_are_never_shipped_nor_pinned(servable: Servable) -> None:
    traced = trace(
        servable(
            "def f():\n    import numpy, fastapi, pydantic, roost.serve, ray.serve\n    from PIL import Image"
        )
    )
    assert (list(traced.files), traced.pins) == (["app.py"], [])


def test_torch_may_be_missing_here(servable: Servable) -> None:
    assert trace(servable("def f():\n    import torch.nn, torchvision, triton")).pins == []


def test_the_same_code_elsewhere_has_the_same_fingerprint(
    servable: Servable, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"pkg/__init__.py": "", "pkg/mod.py": "x = 1"})
    here = pack(trace(servable("import pkg.mod")))
    elsewhere = tmp_path / "other machine" / "home"
    elsewhere.parent.mkdir()
    (tmp_path / "src").rename(elsewhere)
    for name in ("app", "pkg", "pkg.mod"):
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(elsewhere))
    there = pack(trace(__import__("app").App))
    assert there.fingerprint == here.fingerprint
    (elsewhere / "pkg" / "mod.py").write_text("x = 2")
    assert pack(trace(__import__("app").App)).fingerprint != here.fingerprint
