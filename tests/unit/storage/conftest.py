"""A store in a folder, and trees to keep in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.contracts.artifact import ArtifactKind
from roost.storage.artifacts import StoredArtifacts
from roost.storage.store import ObjectStore

Calls = list[tuple[str, str]]


class _Recorded(StoredArtifacts):
    """Real artifacts that write down what was put and got."""

    def __init__(self, store: ObjectStore, puts: Calls, gets: Calls) -> None:
        super().__init__(store)
        self._puts = puts
        self._gets = gets

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        self._puts.append((kind, name))
        super().put(kind, name, data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        self._gets.append((kind, name))
        return super().get(kind, name)


@pytest.fixture
def storage_dir(tmp_path: Path) -> Path:
    return tmp_path / "storage"


@pytest.fixture
def puts() -> Calls:
    """(kind, name) of everything put through `artifacts`."""
    return []


@pytest.fixture
def gets() -> Calls:
    """(kind, name) of everything got through `artifacts`."""
    return []


@pytest.fixture
def artifacts(storage_dir: Path, puts: Calls, gets: Calls) -> StoredArtifacts:
    return _Recorded(ObjectStore.open(storage_dir.as_uri()), puts, gets)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Nested, empty, executable, linked, repeated and odd: all that must come back identical."""
    root = tmp_path / "weights"
    (root / "a" / "b").mkdir(parents=True)
    (root / "empty" / "deep").mkdir(parents=True)
    (root / "model.bin").write_bytes(b"weights")
    (root / "a" / "b" / "same.bin").write_bytes(b"weights")
    (root / "a" / "nothing").write_bytes(b"")
    (root / "a" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "a" / "run.sh").chmod(0o755)
    (root / "ünï cödé\n.txt").write_bytes(b"odd name")
    (root / "a" / "latest").symlink_to("../model.bin")
    (root / "a" / "dir-link").symlink_to("b")
    (root / "first").symlink_to("a/nothing")
    return root


def snapshot(root: Path) -> dict[str, object]:
    """All of a tree: bytes, executable bits, link targets and directories."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_dir():
            found[name] = "directory"
        else:
            found[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


@pytest.fixture(name="snapshot")
def snapshot_fixture() -> object:
    return snapshot
