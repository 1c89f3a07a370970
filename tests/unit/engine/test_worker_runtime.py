"""Where the workers of an existing cluster find the replica runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.bundle.runtime_zip import RuntimeZip
from roost.engine.worker_runtime import runtime_uri, store_runtime
from roost.errors import BadRequest
from roost.storage.store import ObjectStore

RUNTIME = RuntimeZip("abc", b"zip")


@pytest.mark.parametrize(
    ("storage", "uri"),
    [
        ("file:///srv/roost", "file:///srv/roost/runtime/abc.zip"),
        ("file://localhost/srv/a%20b/", "file:///srv/a%20b/runtime/abc.zip"),
        ("s3://bucket/prefix", "s3://bucket/prefix/runtime/abc.zip"),
        ("s3://bucket", "s3://bucket/runtime/abc.zip"),
        ("gs://bucket/p/", "gs://bucket/p/runtime/abc.zip"),
        ("az://container/p", "azure://container/p/runtime/abc.zip"),
    ],
)
def test_ray_downloads_it_from_the_storage(storage: str, uri: str) -> None:
    assert runtime_uri(storage, RUNTIME) == uri


def test_a_storage_in_this_process_is_refused() -> None:
    with pytest.raises(BadRequest, match="'memory:///' cannot be read by the workers") as caught:
        runtime_uri("memory:///", RUNTIME)
    assert caught.value.hint is not None
    assert "ROOST_STORAGE_URL" in caught.value.hint


def test_it_is_stored_once_and_again_when_it_is_cut_short(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    assert store_runtime(store, RUNTIME)
    assert not store_runtime(store, RUNTIME)
    store.put("runtime/abc.zip", b"z")
    assert store_runtime(store, RUNTIME)
    assert store.get("runtime/abc.zip") == b"zip"
