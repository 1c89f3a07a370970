"""The SDK against the real services in this process."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MODULE = '''
import roost

EDITION = {edition}

async def app(scope, receive, send):
    """A bare ASGI app: it imports in no time."""

@roost.serve.ingress(app)
class Model:
    pass
'''


@pytest.fixture
def servable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], type]:
    """Makes a servable of the user's own module, in the edition asked for."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def make(edition: int = 1) -> type:
        (folder / "own_model.py").write_text(MODULE.format(edition=edition))
        sys.modules.pop("own_model", None)
        importlib.invalidate_caches()
        module = importlib.import_module("own_model")
        made: type = module.Model
        return made

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return make


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    (folder / "deep").mkdir(parents=True)
    (folder / "model.bin").write_bytes(b"12345")
    (folder / "deep" / "empty").touch()
    return folder
