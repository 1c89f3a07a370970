from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from roost.bundle import trace
from roost.errors import InvalidServable

Write = Callable[[dict[str, str]], None]
Servable = Callable[..., type]


def main_class(monkeypatch: pytest.MonkeyPatch, file: Path | None) -> type:
    """A class as it is seen in a process whose main module came from `file`."""
    main = ModuleType("__main__")
    main.__dict__["Served"] = served = type("Served", (), {"__module__": "__main__"})
    if file is not None:
        main.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "__main__", main)
    return served


def test_a_script_ships_under_its_stem(monkeypatch: pytest.MonkeyPatch, write: Write, root: Path) -> None:
    write({"demo.py": "import beside", "beside.py": ""})
    traced = trace(main_class(monkeypatch, root / "demo.py"))
    assert (traced.class_path, list(traced.files)) == ("demo:Served", ["beside.py", "demo.py"])


def test_a_main_module_without_source_is_refused(
    monkeypatch: pytest.MonkeyPatch, write: Write, root: Path
) -> None:
    """`python app.pyz`: the main module is said to lie in a file that is none."""
    write({"app.pyz": ""})
    for file in (root / "app.pyz" / "__main__.py", root / "app.pyz"):
        with pytest.raises(InvalidServable) as caught:
            trace(main_class(monkeypatch, file))
        assert caught.value.message == (
            f"__main__.Served comes from {str(file)!r}, which is no source file to bundle."
        )
        assert caught.value.hint == "Move the class to a module file and import it from there."


@pytest.mark.parametrize("name", ["__main__.py", "demo.v2.py", "queue.py"])
def test_a_script_whose_name_no_worker_can_import_is_refused(
    monkeypatch: pytest.MonkeyPatch, write: Write, root: Path, name: str
) -> None:
    write({name: ""})
    with pytest.raises(InvalidServable, match=r"no module name|hides the worker's module"):
        trace(main_class(monkeypatch, root / name))


def test_a_class_made_in_a_function_is_refused() -> None:
    class Local: ...

    with pytest.raises(InvalidServable, match=r"is made inside a function"):
        trace(Local)


def test_a_class_that_was_renamed_is_refused(servable: Servable) -> None:
    cls = servable()
    cls.__qualname__ = "Other"
    with pytest.raises(InvalidServable, match=r"app\.Other is not what its module holds under that name"):
        trace(cls)


def test_a_class_of_a_run_time_module_is_refused() -> None:
    module = ModuleType("made_up")
    module.__dict__["A"] = made = type("A", (), {"__module__": "made_up"})
    sys.modules["made_up"] = module
    try:
        with pytest.raises(InvalidServable, match=r"made_up\.A comes from no file"):
            trace(made)
    finally:
        del sys.modules["made_up"]


def test_a_module_loaded_under_a_foreign_dotted_name_is_refused(write: Write, root: Path) -> None:
    write({"real.py": "class App: ..."})
    spec = importlib.util.spec_from_file_location("fake.name", root / "real.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fake.name"] = module
    spec.loader.exec_module(module)
    with pytest.raises(InvalidServable, match=r"module 'fake\.name' was loaded from '.*real\.py'"):
        trace(module.App)


def test_a_class_outside_the_import_path_is_traced_from_its_own_root(
    servable: Servable, write: Write, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"pkg/__init__.py": "", "pkg/sibling.py": ""})
    cls = servable("def f():\n    from . import sibling", module="pkg.app")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(root)])
    assert list(trace(cls).files) == ["pkg/__init__.py", "pkg/app.py", "pkg/sibling.py"]


def test_this_very_test_module_can_be_served() -> None:
    assert trace(Here).class_path.endswith("test_origin:Here")


class Here: ...


@pytest.mark.parametrize("candidate", [3, "app:App", None])
def test_what_is_no_class_is_refused(candidate: object) -> None:
    with pytest.raises(InvalidServable, match=r"is not a class"):
        trace(candidate)  # type: ignore[arg-type]  # what an untyped caller may do


def test_tracing_inside_the_checking_interpreter_is_refused(
    servable: Servable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_BUNDLE_CHECK", "1")
    with pytest.raises(InvalidServable, match=r"importing the module of 'App' saves a model"):
        trace(servable())


def test_what_ray_has_wrapped_is_refused() -> None:
    wrapped = type("Deployment", (), {"__module__": "ray.serve.deployment"})()
    with pytest.raises(InvalidServable, match=r"is already wrapped by ray\.serve") as caught:
        trace(wrapped)
    assert caught.value.hint == "Use @roost.serve.ingress(app) on the plain class instead."


def test_an_installed_compiled_class_ships_no_file() -> None:
    traced = trace(importlib.import_module("pydantic_core._pydantic_core").SchemaValidator)
    assert (traced.files, traced.pins) == ({}, [])
    assert traced.class_path == "pydantic_core._pydantic_core:SchemaValidator"
