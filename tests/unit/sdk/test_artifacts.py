"""Which way leads to the artifacts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.contracts.artifact import ArtifactKind
from roost.contracts.info import StorageInfo
from roost.errors import StorageDenied
from roost.sdk.artifacts import DirectFirst, find_way
from roost.storage.artifacts import sha256
from roost.storage.store import ObjectStore
from roost.testing.memory_store import MemoryStore

DATA = b"a chunk"
NAME = sha256(DATA)


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)


def test_the_servers_folder(tmp_path: Path) -> None:
    store = ObjectStore.open((tmp_path / "a b").as_uri())
    own = StorageInfo(url=store.url, storage_id=store.storage_id())
    assert find_way(own) == "folder"
    assert find_way(own.model_copy(update={"storage_id": "another's"})) == "server"
    assert find_way(own.model_copy(update={"url": (tmp_path / "gone").as_uri()})) == "server"


def test_a_folder_of_the_same_path_is_left_as_it_is(tmp_path: Path) -> None:
    for storage_id in ("the server's", ""):
        assert find_way(StorageInfo(url=tmp_path.as_uri(), storage_id=storage_id)) == "server"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["s3://bucket/x", "gs://bucket/x", "az://container/x"])
def test_a_bucket_without_credentials_is_not_even_asked(url: str) -> None:
    assert find_way(StorageInfo(url=url, storage_id="1")) == "signed URLs"


def test_the_memory_of_a_server_is_its_own() -> None:
    assert find_way(StorageInfo(url="memory:///", storage_id="1")) == "server"


class _ReadOnly(MemoryStore):
    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        raise StorageDenied("storage 's3://b' refuses access to 'x'.")


def test_who_may_only_read_writes_by_the_other_way() -> None:
    direct, otherwise = _ReadOnly(), MemoryStore()
    store = DirectFirst(direct, otherwise)
    store.put("chunks", NAME, DATA)
    assert otherwise.objects == {("chunks", NAME): DATA}
    direct.objects["chunks", NAME] = DATA
    otherwise.objects.clear()
    assert store.get("chunks", NAME) == DATA
    assert store.missing("chunks", [NAME]) == set()
