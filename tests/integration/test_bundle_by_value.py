"""Classes typed at real prompts, checked in a clean interpreter and served from their bundle."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from roost.bundle import unpack
from roost.contracts.servable import ServableRef
from roost.errors import InvalidServable
from roost.replica.servable import import_servable
from roost.replica.serve_app import build_serve_app

CELLS = """
import roost
from fastapi import FastAPI
from pydantic import BaseModel
from mathematics import add

app = FastAPI()
STEP = 10

class Answer(BaseModel):
    value: int

@roost.serve.ingress(app)
class Model:
    def __init__(self, key):
        self.start = STEP

    @app.get("/add/{x}")
    def add(self, x: int) -> Answer:
        return Answer(value=add(self.start, x))

"""

SAVE = """
from pathlib import Path
from roost.bundle import check, pack, trace

bundle = pack(trace(Model, include=("labels.txt",)))
Path("bundle.zip").write_bytes(bundle.data)
print("REF", check(bundle).model_dump_json(by_alias=True))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mathematics.py").write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "labels.txt").write_text("cat")
    return tmp_path


def typed(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Feed `code` to a Python that reads its standard input."""
    return subprocess.run(
        [sys.executable, *arguments],
        input=code,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def ref_of(done: subprocess.CompletedProcess[str]) -> ServableRef:
    lines = [line.partition("REF ")[2] for line in done.stdout.splitlines() if "REF " in line]
    assert lines, done.stderr
    return ServableRef.model_validate_json(lines[-1])


async def answer(app: Any, path: str) -> Any:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        return (await client.get(path)).json()


@pytest.mark.parametrize("arguments", [("-",), ("-i",), ("-c",)])
def test_a_class_typed_at_a_prompt_is_checked_and_served(
    folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # At an interactive prompt an empty line ends a class, and only that does.
    prompt = CELLS.replace("\n\n    @", "\n    @").replace("STEP\n\n", "STEP\n")
    done = (
        typed(folder, "", "-c", CELLS + SAVE)
        if arguments == ("-c",)
        else typed(folder, (prompt if arguments == ("-i",) else CELLS) + SAVE, *arguments)
    )
    ref = ref_of(done)
    assert (ref.class_path, ref.kind, ref.pins) == ("__main__:Model", "serve_app", [])
    bundle = tmp_path / "unpacked"
    unpack((folder / "bundle.zip").read_bytes(), ref.bundle_fingerprint, bundle)
    assert sorted(path.name for path in bundle.iterdir() if path.suffix != ".pkl") == [
        "labels.txt",
        "mathematics.py",
    ]
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    try:
        cls = import_servable(ref, bundle)
        assert asyncio.run(answer(build_serve_app(cls("key")), "/add/4")) == {"value": 14}
    finally:
        sys.modules.pop("mathematics", None)


def test_another_kind_than_was_stored_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ref = ref_of(typed(folder, CELLS + SAVE, "-"))
    unpack((folder / "bundle.zip").read_bytes(), ref.bundle_fingerprint, tmp_path / "unpacked")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    other = ref.model_copy(update={"kind": "inference_model", "capability": "detection"})
    try:
        with pytest.raises(InvalidServable, match=r"'__main__:Model' was stored as inference_model"):
            import_servable(other, tmp_path / "unpacked")
    finally:
        sys.modules.pop("mathematics", None)


def test_a_module_that_only_the_prompt_could_import_fails_the_check(folder: Path) -> None:
    """What a module imports by a name it computes is missing in the bundle, and named."""
    (folder / "mathematics.py").write_text("__import__('hid' + 'den')\ndef add(a, b): ...\n")
    (folder / "hidden.py").write_text("")
    done = typed(folder, CELLS + SAVE, "-")
    assert done.returncode == 1
    assert "ModuleNotFoundError: No module named 'hidden' (mathematics.py:1)" in done.stderr
    assert "add include=('hidden',)" in done.stderr


def test_a_value_that_cannot_be_pickled_is_named(folder: Path) -> None:
    cells = CELLS.replace("STEP = 10", "import threading\nSTEP = threading.Lock()")
    done = typed(folder, cells + SAVE, "-")
    assert done.returncode == 1
    assert "its global 'STEP' (_thread.lock) cannot be pickled" in done.stderr
