"""Every kind of damage is found and named, and saving again heals it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from roost.storage.artifacts import StoredArtifacts, artifact_path, sha256
from roost.storage.manifest import Manifest
from roost.storage.upload import upload_tree
from roost.storage.verify import verify_weights

Damage = Callable[[Path], None]

BIG = b"a" * (9 * 1024 * 1024)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


DAMAGES = pytest.mark.parametrize("damage", [truncate, flip, empty, remove])


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    root = tmp_path / "weights"
    (root / "deep").mkdir(parents=True)
    (root / "big.bin").write_bytes(BIG)
    (root / "deep" / "copy.bin").write_bytes(BIG)
    (root / "small.txt").write_bytes(b"small")
    (root / "empty").touch()
    return root


@pytest.fixture
def saved(weights: Path, artifacts: StoredArtifacts) -> Manifest:
    return upload_tree(weights, artifacts)


def test_whole_weights_have_no_problem(saved: Manifest, artifacts: StoredArtifacts) -> None:
    steps: list[tuple[int, int]] = []
    checked = verify_weights(
        saved.digest, artifacts, progress=lambda done, total: steps.append((done, total))
    )
    assert checked.problems == []
    stored = len(BIG) + len(b"small")
    assert checked.size == len(saved.encode()) + stored
    assert steps[0] == (0, stored)
    assert steps[-1] == (stored, stored)


@DAMAGES
def test_a_damaged_chunk_is_named_with_every_file(
    weights: Path, saved: Manifest, artifacts: StoredArtifacts, storage_dir: Path, damage: Damage
) -> None:
    name = sha256(BIG[: 8 * 1024 * 1024])
    damage(storage_dir / artifact_path("chunks", name))
    for _ in range(2):
        found = verify_weights(saved.digest, artifacts).problems
        assert [(problem.file, problem.chunk) for problem in found] == [
            ("big.bin", name),
            ("deep/copy.bin", name),
        ]
        assert all(name in problem.what for problem in found)
    assert upload_tree(weights, artifacts).digest == saved.digest
    assert verify_weights(saved.digest, artifacts).problems == []


@DAMAGES
def test_a_damaged_manifest_is_named(
    weights: Path, saved: Manifest, artifacts: StoredArtifacts, storage_dir: Path, damage: Damage
) -> None:
    damage(storage_dir / artifact_path("manifests", saved.digest))
    (problem,) = verify_weights(saved.digest, artifacts).problems
    assert (problem.file, problem.chunk) == ("", "")
    assert f"manifest '{saved.digest}'" in problem.what
    assert upload_tree(weights, artifacts).digest == saved.digest
    assert verify_weights(saved.digest, artifacts).problems == []


def test_all_damages_are_found_at_once(
    saved: Manifest, artifacts: StoredArtifacts, storage_dir: Path
) -> None:
    for name in saved.chunk_names():
        flip(storage_dir / artifact_path("chunks", name))
    found = verify_weights(saved.digest, artifacts).problems
    assert {problem.chunk for problem in found} == saved.chunk_names()
    assert {problem.file for problem in found} == {"big.bin", "deep/copy.bin", "small.txt"}
