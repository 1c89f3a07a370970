"""A node that lacks what replicas import says so."""

from __future__ import annotations

import ast
import io
import sys
import zipfile
from collections.abc import Iterator

import pytest

from roost.bundle.runtime_zip import pack_runtime
from roost.errors import ModelDeployFailed
from roost.replica.installed import DISTRIBUTIONS, OPTIONAL, require_installed


def imported(source: bytes) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def test_all_that_the_runtime_imports_is_checked() -> None:
    archive = zipfile.ZipFile(io.BytesIO(pack_runtime().data))
    found = {
        name for path in archive.namelist() if path.endswith(".py") for name in imported(archive.read(path))
    }
    assert found - set(sys.stdlib_module_names) - {"roost", "ray"} == set(DISTRIBUTIONS) | OPTIONAL


def test_the_builder_itself_needs_nothing_of_it() -> None:
    archive = zipfile.ZipFile(io.BytesIO(pack_runtime().data))
    read = [archive.read(f"runtime/roost/{path}") for path in ("replica/builder.py", "replica/installed.py")]
    found = {name for source in [*read, archive.read("runtime/roost/errors.py")] for name in imported(source)}
    assert found - set(sys.stdlib_module_names) == {"roost", "ray"}


def test_nothing_is_missing_here() -> None:
    require_installed()


def test_what_is_missing_is_named_with_the_next_step() -> None:
    with pytest.raises(ModelDeployFailed) as caught:
        require_installed(["json", "no_such_module", "an_absent_one"])
    assert str(caught.value) == (
        "The Python of this node lacks an_absent_one, no_such_module, which every replica needs. "
        'Put them into the image of the nodes: pip install "roost[server]".'
    )
