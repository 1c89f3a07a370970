from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from roost.errors import ArtifactNotFound, BadRequest, Unavailable
from roost.storage.store import ObjectStore


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return ObjectStore.open(
        (tmp_path / "new" / "store").as_uri() if request.param == "folder" else "memory:///"
    )


def test_an_object_comes_back(store: ObjectStore) -> None:
    store.put("a/b", b"one")
    store.put("a/b", b"two")
    assert store.get("a/b") == b"two"
    assert store.find_size("a/b") == 3
    assert store.exists("a/b")


def test_what_is_not_there(store: ObjectStore) -> None:
    assert not store.exists("a/b")
    store.delete("a/b")
    with pytest.raises(ArtifactNotFound, match="'a/b' is not in storage"):
        store.get("a/b")
    with pytest.raises(ArtifactNotFound):
        store.move("a/b", "c")


def test_put_new_keeps_the_first(store: ObjectStore) -> None:
    assert store.put_new("x", b"first") is True
    assert store.put_new("x", b"second") is False
    assert store.get("x") == b"first"


def test_list_move_delete(store: ObjectStore) -> None:
    store.put("chunks/aa/1", b"1")
    store.put("manifests/2", b"2")
    store.move("manifests/2", "chunks/2")
    assert sorted(store.list("chunks")) == ["chunks/2", "chunks/aa/1"]
    store.delete("chunks/2")
    assert list(store.list()) == ["chunks/aa/1"]


def test_storage_id_is_made_once(tmp_path: Path) -> None:
    first = ObjectStore.open(tmp_path.as_uri()).storage_id()
    assert ObjectStore.open(tmp_path.as_uri()).storage_id() == first
    assert len(first) == 36


def test_a_folder_with_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "with space %20"
    ObjectStore.open(folder.as_uri()).put("x", b"1")
    assert (folder / "x").read_bytes() == b"1"


@pytest.mark.parametrize(
    "url", ["/tmp/x", "file:relative", "file://host/x", "ftp://host/x", "http://h/x", ""]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(BadRequest, match="storage URL"):
        ObjectStore.open(url)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Unavailable, match="cannot be created"):
        ObjectStore.open((tmp_path / "file" / "store").as_uri())


def test_leftovers_of_killed_writers_are_removed_and_never_listed(tmp_path: Path) -> None:
    (tmp_path / "incoming").mkdir()
    old, young = tmp_path / "incoming" / "old#1", tmp_path / "incoming" / "young"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    store = ObjectStore.open(tmp_path.as_uri())
    store.put("x", b"1")
    assert list(store.list()) == ["x"]
    assert [path.name for path in (tmp_path / "incoming").iterdir()] == ["young"]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    store.put("x", b"1")
    store.put_new("x", b"2")
    with pytest.raises(Unavailable):
        store.put("x/y", b"below a file")
    assert list((tmp_path / "incoming").iterdir()) == []
