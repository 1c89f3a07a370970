"""One project, packed by processes as different as two machines are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PACK = """
import json
from roost.bundle import pack, trace
from kit.model import App

bundle = pack(trace(App, include=("assets", "plugins", "kit.dynamic")))
print(json.dumps([bundle.fingerprint, bundle.class_path, bundle.files, bundle.pins, bundle.notes]))
"""

PROJECT = {
    "kit/__init__.py": "from .model import App",
    "kit/model.py": "import kit.space.part, json\nfrom . import späte\ntry:\n    import pytest\n"
    "except ImportError: ...\nclass App: ...\n",
    "kit/späte.py": "name = 'é'\n",
    "kit/dynamic.py": "import yaml, requests\n",
    "kit/space/part.py": "",
    "assets/ü.txt": "ß",
    "assets/B.txt": "",
    "assets/a.txt": "",
    "plugins/one.py": "",
}

TYPED = """
import json

import roost
from fastapi import FastAPI
from pydantic import BaseModel
from roost.bundle import pack, trace

app = FastAPI()
NAMES = ("a", "b")

class Answer(BaseModel):
    value: int

@roost.serve.ingress(app)
class Model:
    kinds: dict[str, int] = {"x": 1, "y": 2}

    @app.get("/add/{x}")
    def add(self, x: int) -> Answer:
        return Answer(value=x)

    def run(self, x):
        if x in {"alpha", "beta", "gamma", "delta"}:
            return NAMES
        return [each for each in self.kinds if each not in ("z", "q")]

bundle = pack(trace(Model))
print(json.dumps([bundle.fingerprint, bundle.class_path, bundle.files, bundle.pins, bundle.notes]))
"""


def packed(folder: Path, code: str, *, umask: int, **environment: str) -> Any:
    """Run `code` in `folder` as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-B", "-"],
        input=code,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "PYTHONUTF8": "1", **environment},
        umask=umask,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_path_locale_umask_time_and_hash_seed_do_not_matter(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "an other" / "höme"
    for path, text in PROJECT.items():
        file = here / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copytree(here, there, copy_function=shutil.copyfile)
    for file in sorted(there.rglob("*"), reverse=True):
        os.utime(file, (1, 1))
        file.chmod(0o700)
    first = packed(here, PACK, umask=0o022, PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC", HOME="/root")
    second = packed(there, PACK, umask=0o077, PYTHONHASHSEED="2", LC_ALL="C.UTF-8", TZ="Asia/Tokyo", HOME="/")
    assert first == second
    fingerprint, class_path, files, pins, _ = first
    assert (len(fingerprint), class_path) == (64, "kit.model:App")
    assert files == sorted(PROJECT)
    assert [pin.partition("==")[0] for pin in pins] == ["pytest"]


def test_a_typed_class_has_one_fingerprint_too(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first = packed(tmp_path, TYPED, umask=0o022, PYTHONHASHSEED="1", LC_ALL="C")
    second = packed(tmp_path / "other", TYPED, umask=0o077, PYTHONHASHSEED="2", LC_ALL="C.UTF-8")
    assert first == second
    assert first[1] == "__main__:Model"
