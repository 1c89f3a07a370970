"""Copying a tree out of an object store; the store is in memory."""

from __future__ import annotations

from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from roost.errors import InvalidWeights, NotFound
from roost.sdk.sources.address import BucketAddress
from roost.sdk.sources.bucket import PIECE_BYTES, StoredFile, copy_files, list_files

ADDRESS = BucketAddress("s3://bucket/models/x")


def stored(**objects: bytes) -> MemoryStore:
    store = MemoryStore()
    for path, data in objects.items():
        obstore.put(store, path.replace("__", "/"), data)
    return store


def test_the_tree_comes_whole_and_in_pieces(tmp_path: Path) -> None:
    big = bytes(range(256)) * (PIECE_BYTES // 256) + b"end"
    store = stored(big=big, deep__er__small=b"s", deep__empty=b"")
    told: list[tuple[int, int]] = []
    files = list_files(store, ADDRESS)
    copy_files(store, files, tmp_path, progress=lambda done, total: told.append((done, total)))
    found = {
        str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert found == {"big": big, "deep/er/small": b"s", "deep/empty": b""}
    assert told[-1] == (len(big) + 1, len(big) + 1)
    assert len(told) == 1 + 3


def test_nothing_there_is_said() -> None:
    with pytest.raises(NotFound, match="no object below 's3://bucket/models/x'"):
        list_files(MemoryStore(), ADDRESS)


def test_the_marker_of_a_folder_is_left_out() -> None:
    store = stored(deep=b"", deep__small=b"s", empty=b"")
    assert [file.path for file in list_files(store, ADDRESS)] == ["deep/small", "empty"]


def test_an_object_beneath_another_is_refused() -> None:
    with pytest.raises(InvalidWeights, match="'a/b'"):
        list_files(stored(a=b"file", a__b=b"below it"), ADDRESS)


@pytest.mark.parametrize("path", ["a\\b", "x" * 256])
def test_names_that_no_tree_can_have_are_refused(path: str) -> None:
    with pytest.raises(InvalidWeights, match="is not valid"):
        list_files(stored(**{path: b"1"}), ADDRESS)


def test_an_object_that_changed_since_it_was_listed_is_named(tmp_path: Path) -> None:
    store = stored(a=b"12345", b=b"1")
    files = list_files(store, ADDRESS)
    obstore.put(store, "a", b"54321")
    with pytest.raises(InvalidWeights, match="'a' changed while it was copied"):
        copy_files(store, files, tmp_path)


@pytest.mark.parametrize("now", [b"1234", b"123456"])
def test_another_size_is_noticed_without_etags(tmp_path: Path, now: bytes) -> None:
    with pytest.raises(InvalidWeights, match="'a' changed while it was copied"):
        copy_files(stored(a=now), [StoredFile("a", 5, None)], tmp_path)


def test_an_object_that_went_away_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidWeights, match="'a' changed while it was copied"):
        copy_files(MemoryStore(), [StoredFile("a", 5, None)], tmp_path)
