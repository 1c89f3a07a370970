"""The replica runtime: complete in itself, without the server, and the same wherever it is packed."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import roost
from roost.bundle.runtime_zip import pack_runtime

PACKAGE = Path(roost.__file__).parent
EPOCH = (1980, 1, 1, 0, 0, 0)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package in another place, with other times."""
    folder = tmp_path / "elsewhere" / "roost"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in folder.rglob("*.py"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    return folder


def names() -> list[str]:
    return zipfile.ZipFile(io.BytesIO(pack_runtime().data)).namelist()


def test_it_is_the_same_on_every_machine(copy: Path) -> None:
    here = pack_runtime()
    (copy / "replica" / "__pycache__").mkdir()
    (copy / "replica" / "__pycache__" / "builder.cpython-311.pyc").write_bytes(b"x")
    (copy / "server.py").write_text("changed = True")
    assert pack_runtime(copy) == here
    assert here.path == f"runtime/{here.digest}.zip"


def test_another_version_has_another_name(copy: Path) -> None:
    with (copy / "replica" / "builder.py").open("a") as file:
        file.write("# changed\n")
    assert pack_runtime(copy).digest != pack_runtime().digest


def test_it_lies_beneath_one_folder_that_ray_strips() -> None:
    assert {name.split("/")[0] for name in names()} == {"runtime"}
    assert {name.split("/")[1] for name in names()} == {"roost"}
    assert "runtime/roost/replica/builder.py" in names()
    entries = zipfile.ZipFile(io.BytesIO(pack_runtime().data)).infolist()
    assert {(entry.date_time, entry.compress_type) for entry in entries} == {(EPOCH, zipfile.ZIP_STORED)}


def test_the_server_is_not_in_it() -> None:
    parts = {name.split("/")[2].removesuffix(".py") for name in names()}
    rooms = {
        "api",
        "cli",
        "dashboard",
        "engine",
        "gateway",
        "reconcile",
        "records",
        "services",
        "serving",
        "testing",
    }
    assert parts & (rooms | {"app", "daemon", "engines", "logs", "parts", "server", "settings"}) == set()


def test_all_of_it_can_be_imported_where_no_other_roost_is(tmp_path: Path) -> None:
    """Only `replica.builder` imports Ray, which is left out here: it takes seconds."""
    zipfile.ZipFile(io.BytesIO(pack_runtime().data)).extractall(tmp_path)
    modules = [
        name.removeprefix("runtime/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in names()
        if name.endswith(".py") and not name.endswith("replica/builder.py")
    ]
    # Isolated and without site (-I -S): the editable install of Roost is not found.
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path / 'runtime')!r}, {sysconfig.get_path('purelib')!r}]\n"
        f"from importlib import import_module\nfor name in {modules!r}: import_module(name)\n"
        "import roost; print(roost.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(tmp_path / "runtime" / "roost" / "__init__.py"), done.stderr
