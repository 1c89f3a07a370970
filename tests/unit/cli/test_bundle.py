"""`roost models bundle`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roost.bundle import Bundle, Traced, pack
from roost.keys import ModelKey
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
KEY = ModelKey("f", "s", "r")


def store(server: InProcessServer, bundle: Bundle) -> None:
    server.store.put("bundles", bundle.fingerprint, bundle.data)
    save_ready_model(server.db, KEY, bundle=bundle.fingerprint)


@pytest.fixture
def bundle(tmp_path: Path, server: InProcessServer) -> Bundle:
    (tmp_path / "app.py").write_text("import lib")
    packed = pack(
        Traced(
            files={"app.py": tmp_path / "app.py", "data/a.txt": tmp_path / "app.py"},
            class_path="app:App",
            pins=["lib==1"],
            notes=["One note.", "Another."],
            reasons={"app.py": "holds the class 'App'", "data/a.txt": "include"},
            pin_reasons={"lib==1": "imported by app.py line 1"},
        )
    )
    store(server, packed)
    return packed


def test_files_and_pins_with_why(cli: Cli, bundle: Bundle) -> None:
    ran = cli("models", "bundle", "f/s/r")
    assert (ran.code, ran.err) == (0, "")
    assert [" ".join(line.split()) for line in ran.out.splitlines()] == [
        "class app:App",
        f"fingerprint {bundle.fingerprint}",
        "FILE BYTES WHY",
        "app.py 10 holds the class 'App'",
        "data/a.txt 10 include",
        "PIN WHY",
        "lib==1 imported by app.py line 1",
        "note One note.",
        "note Another.",
    ]


def test_as_json(cli: Cli, bundle: Bundle) -> None:
    assert cli("models", "bundle", "f/s/r", "--json").json == {
        "fingerprint": bundle.fingerprint,
        "classPath": "app:App",
        "files": [
            {"path": "app.py", "size": 10, "reason": "holds the class 'App'"},
            {"path": "data/a.txt", "size": 10, "reason": "include"},
        ],
        "pins": [{"requirement": "lib==1", "reason": "imported by app.py line 1"}],
        "notes": ["One note.", "Another."],
    }


def test_an_installed_class_has_no_files(cli: Cli, server: InProcessServer) -> None:
    store(server, pack(Traced(files={}, class_path="numpy:ndarray", pins=[])))
    said = cli("models", "bundle", "f/s/r").out
    assert "No files: the class is part of an installed distribution.\n" in said
    assert "No pins: the workers have all it imports.\n" in said


def test_an_unknown_model(cli: Cli, server: InProcessServer) -> None:
    ran = cli("models", "bundle", "f/s/none", "--json")
    assert (ran.code, ran.error["reason"]) == (1, "model_not_found")
