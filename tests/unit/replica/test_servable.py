from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.contracts.servable import ServableRef
from roost.errors import InvalidServable
from roost.replica.servable import import_servable

SOURCE = """
import roost.serve

async def app(scope, receive, send):
    pass

class Outer:
    @roost.serve.ingress(app)
    class Inner:
        pass

NOT_A_CLASS = 1
"""


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "roost_test_pkg").mkdir()
    (tmp_path / "roost_test_pkg" / "__init__.py").touch()
    (tmp_path / "roost_test_pkg" / "served.py").write_text(SOURCE)
    (tmp_path / "roost_test_pkg" / "broken.py").write_text("import roost_test_missing")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("roost_test_pkg")]:
        del sys.modules[name]


def ref(class_path: str) -> ServableRef:
    return ServableRef(class_path=class_path, kind="serve_app", bundle_fingerprint="0" * 64)


def test_imports_a_nested_class_from_the_bundle(bundle: Path) -> None:
    found = import_servable(ref("roost_test_pkg.served:Outer.Inner"), bundle)
    assert (found.__qualname__, found.__module__) == ("Outer.Inner", "roost_test_pkg.served")
    assert sys.path[0] == str(bundle)
    assert os.environ["PYTHONPATH"] == f"{bundle}:/elsewhere"


def test_a_second_import_repeats_no_path(bundle: Path) -> None:
    import_servable(ref("roost_test_pkg.served:Outer.Inner"), bundle)
    import_servable(ref("roost_test_pkg.served:Outer.Inner"), bundle)
    assert sys.path.count(str(bundle)) == 1
    assert os.environ["PYTHONPATH"] == f"{bundle}:/elsewhere"


@pytest.mark.parametrize("name", ["Missing", "Outer.Missing", "NOT_A_CLASS", "app", ""])
def test_what_is_no_class_is_named(bundle: Path, name: str) -> None:
    with pytest.raises(InvalidServable, match="names no class"):
        import_servable(ref(f"roost_test_pkg.served:{name}"), bundle)


def test_another_kind_than_stored_is_refused(bundle: Path) -> None:
    with pytest.raises(InvalidServable, match="neither a serve-app nor an inference model"):
        import_servable(ref("roost_test_pkg.served:Outer"), bundle)
    model = ServableRef(
        class_path="roost_test_pkg.served:Outer.Inner",
        kind="inference_model",
        capability="detection",
        bundle_fingerprint="0" * 64,
    )
    with pytest.raises(InvalidServable, match="was stored as inference_model"):
        import_servable(model, bundle)


def test_a_failing_import_comes_out_as_it_is(bundle: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="roost_test_missing"):
        import_servable(ref("roost_test_pkg.broken:Any"), bundle)
