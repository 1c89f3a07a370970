from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from roost.contracts.artifact import ArtifactKind
from roost.errors import ArtifactNotFound, BadRequest, CorruptArtifact, InvalidName, Unavailable
from roost.storage.artifacts import StoredArtifacts, artifact_path
from roost.storage.download import download_tree
from roost.storage.manifest import CHUNK_SIZE
from roost.storage.upload import upload_tree

Snapshot = Callable[[Path], dict[str, object]]


def test_a_tree_comes_back_identical(
    tree: Path, artifacts: StoredArtifacts, tmp_path: Path, snapshot: Snapshot
) -> None:
    (tree / "big.bin").write_bytes(os.urandom(2 * CHUNK_SIZE + 5))
    manifest = upload_tree(tree, artifacts)
    seen: list[tuple[int, int]] = []
    target = tmp_path / "deep" / "copy"
    again = download_tree(
        manifest.digest, artifacts, target, progress=lambda done, total: seen.append((done, total))
    )
    assert again == manifest
    assert snapshot(target) == snapshot(tree)
    assert [path.name for path in target.parent.iterdir()] == ["copy"]
    assert seen[-1] == (manifest.size_bytes, manifest.size_bytes)
    assert upload_tree(target, artifacts).digest == manifest.digest


def test_the_result_is_read_only(tree: Path, artifacts: StoredArtifacts, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    download_tree(upload_tree(tree, artifacts).digest, artifacts, target)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            assert stat.S_IMODE(path.stat().st_mode) & 0o222 == 0
    assert stat.S_IMODE((target / "model.bin").stat().st_mode) == 0o444
    assert stat.S_IMODE((target / "a" / "run.sh").stat().st_mode) == 0o555


@pytest.mark.parametrize("damage", [b"", b"weight", b"WEIGHTS", b"weights+"])
def test_an_altered_chunk_is_named_and_nothing_is_left(
    tree: Path, artifacts: StoredArtifacts, storage_dir: Path, tmp_path: Path, damage: bytes
) -> None:
    manifest = upload_tree(tree, artifacts)
    chunk = next(file.chunks[0].sha256 for file in manifest.files if file.path == "model.bin")
    (storage_dir / artifact_path("chunks", chunk)).write_bytes(damage)
    before = set(tmp_path.iterdir())
    with pytest.raises(CorruptArtifact, match=rf"{chunk}.*(model|same)\.bin"):
        download_tree(manifest.digest, artifacts, tmp_path / "copy")
    assert set(tmp_path.iterdir()) == before
    upload_tree(tree, artifacts)
    download_tree(manifest.digest, artifacts, tmp_path / "copy")
    assert (tmp_path / "copy" / "model.bin").read_bytes() == b"weights"


def test_a_missing_chunk_is_named(
    tree: Path, artifacts: StoredArtifacts, storage_dir: Path, tmp_path: Path
) -> None:
    manifest = upload_tree(tree, artifacts)
    chunk = next(file.chunks[0].sha256 for file in manifest.files if file.path == "a/run.sh")
    (storage_dir / artifact_path("chunks", chunk)).unlink()
    with pytest.raises(ArtifactNotFound, match=rf"{chunk}.*a/run\.sh"):
        download_tree(manifest.digest, artifacts, tmp_path / "copy")


class _Lying:
    """Passes on altered bytes, as a broken proxy would."""

    def __init__(self, inner: StoredArtifacts, kind: str) -> None:
        self._inner = inner
        self._kind = kind

    def missing(self, kind: ArtifactKind, names: Sequence[str]) -> set[str]:
        return self._inner.missing(kind, names)

    def put(self, kind: ArtifactKind, name: str, data: bytes) -> None:
        self._inner.put(kind, name, data)

    def get(self, kind: ArtifactKind, name: str) -> bytes:
        data = self._inner.get(kind, name)
        return data[:-1] + b"?" if kind == self._kind else data


def test_a_shared_chunk_is_named_with_the_files_that_it_is_part_of(
    artifacts: StoredArtifacts, storage_dir: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "weights"
    tree.mkdir()
    for n in range(12):
        (tree / f"{n:02d}").write_bytes(b"%d" % n)
    manifest = upload_tree(tree, artifacts)
    (chunk,) = manifest.chunk_names()
    (storage_dir / artifact_path("chunks", chunk)).unlink()
    with pytest.raises(ArtifactNotFound) as raised:
        download_tree(manifest.digest, artifacts, tmp_path / "copy")
    names = "'00', '01', '02', '03', '04', '05', '06', '07' and 4 more"
    assert raised.value.message == f"chunk {chunk!r} is not in storage. It is part of {names}."


@pytest.mark.parametrize("kind", ["chunks", "manifests"])
def test_bytes_altered_on_the_way_are_found(
    tree: Path, artifacts: StoredArtifacts, tmp_path: Path, kind: str
) -> None:
    digest = upload_tree(tree, artifacts).digest
    with pytest.raises(CorruptArtifact, match="is corrupt"):
        download_tree(digest, _Lying(artifacts, kind), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_wrong_digest_or_target_is_refused(tree: Path, artifacts: StoredArtifacts, tmp_path: Path) -> None:
    digest = upload_tree(tree, artifacts).digest
    with pytest.raises(InvalidName):
        download_tree("../x", artifacts, tmp_path / "copy")
    with pytest.raises(ArtifactNotFound, match="0000"):
        download_tree("0" * 64, artifacts, tmp_path / "copy")
    with pytest.raises(BadRequest, match="exists already"):
        download_tree(digest, artifacts, tree)
    with pytest.raises(Unavailable, match="cannot be written"):
        download_tree(digest, artifacts, tree / "model.bin" / "copy")


def test_a_tree_larger_than_the_disk_is_refused_at_once(
    tree: Path,
    artifacts: StoredArtifacts,
    gets: list[tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digest = upload_tree(tree, artifacts).digest
    full = shutil.disk_usage(tmp_path)._replace(free=31)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(Unavailable, match="need 32 bytes, 31 are free"):
        download_tree(digest, artifacts, tmp_path / "copy")
    assert gets == [("manifests", digest)]
    assert not (tmp_path / "copy").exists()
