"""A download that was cut off goes on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.contracts.artifact import ArtifactKind
from roost.errors import Unavailable
from roost.storage.artifacts import StoredArtifacts
from roost.storage.download import download_tree
from roost.storage.manifest import CHUNK_SIZE, Manifest
from roost.storage.store import ObjectStore
from roost.storage.upload import upload_tree

Snapshot = Callable[[Path], dict[str, object]]
Calls = list[tuple[str, str]]


class Failing(StoredArtifacts):
    """Gives a few chunks, then fails as a storage that went away."""

    def __init__(self, store: ObjectStore, chunks: int) -> None:
        super().__init__(store)
        self._left = chunks

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        if kind == "chunks":
            self._left -= 1
            if self._left < 0:
                raise Unavailable("storage went away")
        return super().get(kind, name)


@pytest.fixture
def weights(tree: Path) -> Path:
    (tree / "big.bin").write_bytes(b"".join(bytes([i]) * CHUNK_SIZE for i in range(4)) + b"tail")
    return tree


@pytest.fixture
def cut_off(weights: Path, artifacts: StoredArtifacts, storage_dir: Path, tmp_path: Path) -> Manifest:
    """The manifest of a download to `copy` that had 3 chunks when the storage went away."""
    manifest = upload_tree(weights, artifacts)
    failing = Failing(ObjectStore.open(storage_dir.as_uri()), 3)
    with pytest.raises(Unavailable, match="went away"):
        download_tree(manifest.digest, failing, tmp_path / "copy", workers=1)
    assert not (tmp_path / "copy").exists()
    assert (tmp_path / ".copy.partial").is_dir()
    return manifest


def chunks(calls: Calls) -> list[str]:
    return [name for kind, name in calls if kind == "chunks"]


def test_only_the_rest_is_fetched(
    cut_off: Manifest,
    weights: Path,
    artifacts: StoredArtifacts,
    gets: Calls,
    tmp_path: Path,
    snapshot: Snapshot,
) -> None:
    seen: list[tuple[int, int]] = []
    download_tree(cut_off.digest, artifacts, tmp_path / "copy", progress=lambda *at: seen.append(at))
    assert len(chunks(gets)) == len(cut_off.chunk_names()) - 3
    assert seen[-1] == (cut_off.size_bytes, cut_off.size_bytes)
    assert snapshot(tmp_path / "copy") == snapshot(weights)
    assert not (tmp_path / ".copy.partial").exists()


def test_what_was_altered_since_is_fetched_again(
    cut_off: Manifest,
    weights: Path,
    artifacts: StoredArtifacts,
    gets: Calls,
    tmp_path: Path,
    snapshot: Snapshot,
) -> None:
    partial = tmp_path / ".copy.partial" / "big.bin"
    with partial.open("r+b") as file:
        file.seek(5)
        file.write(b"?")
    download_tree(cut_off.digest, artifacts, tmp_path / "copy")
    assert len(chunks(gets)) == len(cut_off.chunk_names()) - 2
    assert snapshot(tmp_path / "copy") == snapshot(weights)


def test_what_does_not_belong_there_is_removed_and_not_followed(
    cut_off: Manifest, weights: Path, artifacts: StoredArtifacts, tmp_path: Path, snapshot: Snapshot
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    partial = tmp_path / ".copy.partial"
    (partial / "big.bin").unlink()
    (partial / "big.bin").symlink_to(outside)
    (partial / "stranger").write_bytes(b"x")
    (partial / "a" / "nothing").write_bytes(b"longer than it should be")
    download_tree(cut_off.digest, artifacts, tmp_path / "copy")
    assert snapshot(tmp_path / "copy") == snapshot(weights)
    assert outside.read_bytes() == b"mine"


def test_a_tree_that_was_sealed_already_is_taken_over(
    cut_off: Manifest,
    weights: Path,
    artifacts: StoredArtifacts,
    gets: Calls,
    tmp_path: Path,
    snapshot: Snapshot,
) -> None:
    # Killed between the last flush and the rename.
    download_tree(cut_off.digest, artifacts, tmp_path / "copy")
    os.rename(tmp_path / "copy", tmp_path / ".copy.partial")  # noqa: PTH104
    gets.clear()
    download_tree(cut_off.digest, artifacts, tmp_path / "copy")
    assert chunks(gets) == []
    assert snapshot(tmp_path / "copy") == snapshot(weights)
