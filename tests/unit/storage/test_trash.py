"""What lies in the trash is found by whoever asks for it, on a folder and on a bucket."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.contracts.artifact import ArtifactKind
from roost.errors import ArtifactNotFound, CorruptArtifact, StorageDenied
from roost.storage.artifacts import StoredArtifacts, artifact_path, sha256
from roost.storage.store import ObjectStore
from roost.storage.trash import bring_back, throw_away, trash_path

HELLO = sha256(b"hello")
PATH = artifact_path("chunks", HELLO)


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return ObjectStore.open(tmp_path.as_uri() if request.param == "folder" else "memory:///")


def test_there_and_back(store: ObjectStore) -> None:
    store.put(PATH, b"hello")
    assert throw_away(store, PATH)
    assert list(store.list()) == [f"trash/{PATH}"]
    assert not throw_away(store, PATH)
    assert bring_back(store, PATH)
    assert store.get(PATH) == b"hello"
    assert not bring_back(store, "chunks/00/none")


@pytest.mark.parametrize("kind", ["chunks", "bundles"])
def test_a_reader_brings_it_back(store: ObjectStore, kind: ArtifactKind) -> None:
    path = artifact_path(kind, HELLO)
    artifacts = StoredArtifacts(store)
    artifacts.put(kind, HELLO, b"hello")
    throw_away(store, path)
    assert artifacts.get(kind, HELLO) == b"hello"
    assert store.exists(path)


def test_whoever_asks_what_is_missing_brings_it_back(store: ObjectStore) -> None:
    artifacts = StoredArtifacts(store)
    artifacts.put("chunks", HELLO, b"hello")
    throw_away(store, PATH)
    assert artifacts.missing("chunks", [HELLO, "f" * 64]) == {"f" * 64}
    assert store.get(PATH) == b"hello"
    throw_away(store, PATH)
    assert artifacts.missing("chunks", [HELLO]) == set()
    assert store.get(PATH) == b"hello"


def test_what_is_thrown_away_while_it_is_read_is_read_all_the_same(tmp_path: Path) -> None:
    """A run that had listed it before takes it away right after a reader brought it back."""

    class Taken(ObjectStore):
        takes = 2

        def get(self, path: str) -> bytes:
            if self.takes and self.exists(path):
                self.takes -= 1
                throw_away(self, path)
            return super().get(path)

    store = Taken.open(tmp_path.as_uri())
    store.put(PATH, b"hello")
    assert StoredArtifacts(store).get("chunks", HELLO) == b"hello"
    assert isinstance(store, Taken)
    assert store.takes == 0


def test_another_reader_brings_it_back_first(tmp_path: Path) -> None:
    class Beaten(ObjectStore):
        def put_back(self, path: str, to: str) -> None:
            super().put_back(path, to)
            super().put_back(path, to)

    store = Beaten.open(tmp_path.as_uri())
    artifacts = StoredArtifacts(store)
    store.put(PATH, b"hello")
    throw_away(store, PATH)
    assert artifacts.missing("chunks", [HELLO]) == set()
    throw_away(store, PATH)
    assert artifacts.get("chunks", HELLO) == b"hello"


def test_an_altered_object_in_the_trash_is_not_brought_back_for_ever(store: ObjectStore) -> None:
    artifacts = StoredArtifacts(store)
    store.put(trash_path(PATH), b"hellO")
    with pytest.raises(CorruptArtifact, match=HELLO):
        artifacts.get("chunks", HELLO)
    assert artifacts.missing("chunks", [HELLO]) == {HELLO}
    artifacts.put("chunks", HELLO, b"hello")
    assert artifacts.get("chunks", HELLO) == b"hello"


def test_a_good_object_in_the_trash_heals_an_altered_one(store: ObjectStore) -> None:
    artifacts = StoredArtifacts(store)
    store.put(trash_path(PATH), b"hello")
    store.put(PATH, b"hellO")
    with pytest.raises(CorruptArtifact):
        artifacts.get("chunks", HELLO)
    assert artifacts.get("chunks", HELLO) == b"hello"


def test_what_is_nowhere_is_named(store: ObjectStore) -> None:
    with pytest.raises(ArtifactNotFound, match=HELLO):
        StoredArtifacts(store).get("chunks", HELLO)


def test_who_may_only_read_reads_it_where_it_lies(tmp_path: Path) -> None:
    class ReadOnly(ObjectStore):
        def put_back(self, path: str, to: str) -> None:
            raise StorageDenied("not allowed")

    store = ReadOnly.open(tmp_path.as_uri())
    store.put(trash_path(PATH), b"hello")
    assert StoredArtifacts(store).get("chunks", HELLO) == b"hello"
    store.put(trash_path(PATH), b"hellO")
    with pytest.raises(CorruptArtifact, match=HELLO):
        StoredArtifacts(store).get("chunks", HELLO)
