from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.errors import ArtifactNotFound, BadRequest, CorruptArtifact, InvalidName
from roost.storage import locks
from roost.storage.artifacts import StoredArtifacts
from roost.storage.node_cache import NodeCache, default_cache_dir, default_max_bytes
from roost.storage.upload import upload_tree

Snapshot = Callable[[Path], dict[str, object]]
CODE = "c" * 64


@pytest.fixture
def cache(tmp_path: Path) -> NodeCache:
    return NodeCache(tmp_path / "cache")


def test_weights_are_downloaded_once(
    tree: Path, artifacts: StoredArtifacts, gets: list[tuple[str, str]], cache: NodeCache, snapshot: Snapshot
) -> None:
    digest = upload_tree(tree, artifacts).digest
    first = cache.weights(digest, artifacts)
    assert snapshot(first) == snapshot(tree)
    assert stat.S_IMODE(first.stat().st_mode) == 0o555
    gets.clear()
    assert cache.weights(digest, artifacts) == first
    assert NodeCache(cache.root).weights(digest, artifacts) == first
    assert gets == []


def test_threads_wait_for_one_download(
    tree: Path, artifacts: StoredArtifacts, gets: list[tuple[str, str]], cache: NodeCache
) -> None:
    digest = upload_tree(tree, artifacts).digest
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(cache.weights(digest, artifacts))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 8
    assert len(set(paths)) == 1
    assert gets.count(("manifests", digest)) == 1


@pytest.mark.parametrize("damage", ["truncate", "alter", "remove"])
def test_a_damaged_entry_is_made_anew(
    tree: Path, artifacts: StoredArtifacts, cache: NodeCache, snapshot: Snapshot, damage: str
) -> None:
    digest = upload_tree(tree, artifacts).digest
    path = cache.weights(digest, artifacts)
    victim = path / "model.bin"
    path.chmod(0o755)
    victim.chmod(0o644)
    if damage == "remove":
        victim.unlink()
    else:
        victim.write_bytes({"truncate": b"w", "alter": b"WEIGHTS"}[damage])
    assert snapshot(cache.weights(digest, artifacts)) == snapshot(tree)
    assert [entry.name for entry in (cache.root / "manifests").iterdir()] == [digest]


def test_a_failed_download_leaves_nothing(
    tree: Path, artifacts: StoredArtifacts, cache: NodeCache, storage_dir: Path
) -> None:
    manifest = upload_tree(tree, artifacts)
    chunk = manifest.files[0].chunks[0].sha256
    (storage_dir / "chunks" / chunk[:2] / chunk).write_bytes(b"bad")
    with pytest.raises(CorruptArtifact):
        cache.weights(manifest.digest, artifacts)
    assert list((cache.root / "manifests").iterdir()) == []


def abandoned(cache: NodeCache, digest: str, size: int) -> Path:
    """What a download that was killed leaves."""
    partial = cache.root / "manifests" / f".{digest}.partial"
    (partial / "tree").mkdir(parents=True)
    (partial / "tree" / "half").write_bytes(os.urandom(size))
    (partial / "tree").chmod(0o555)
    return partial


def test_what_a_killed_removal_left_is_removed(
    tree: Path, artifacts: StoredArtifacts, cache: NodeCache
) -> None:
    digest = upload_tree(tree, artifacts).digest
    for name in (digest, "a" * 64):
        leftover = cache.root / "manifests" / f".{name}.1.removed"
        (leftover / "tree").mkdir(parents=True)
        (leftover / "tree").chmod(0o555)
    cache.weights(digest, artifacts)
    assert [entry.name for entry in (cache.root / "manifests").iterdir()] == [digest]


def test_a_killed_download_is_kept_for_a_day(
    tree: Path, artifacts: StoredArtifacts, cache: NodeCache
) -> None:
    old, new = abandoned(cache, "a" * 64, 5), abandoned(cache, "b" * 64, 5)
    for name, age_s in (("a" * 64, 25 * 3600), ("b" * 64, 23 * 3600)):
        use = cache.root / "locks" / f"manifests-{name}.use"
        use.parent.mkdir(exist_ok=True)
        use.touch()
        os.utime(use, (time.time() - age_s,) * 2)
    cache.weights(upload_tree(tree, artifacts).digest, artifacts)
    assert not old.exists()
    assert new.exists()


def test_a_killed_download_makes_room(tree: Path, artifacts: StoredArtifacts, tmp_path: Path) -> None:
    cache = NodeCache(tmp_path / "cache", max_bytes=100_000)
    partial = abandoned(cache, "a" * 64, 200_000)
    (cache.root / "locks").mkdir()
    (cache.root / "locks" / f"manifests-{'a' * 64}.use").touch()
    cache.weights(upload_tree(tree, artifacts).digest, artifacts)
    assert not partial.exists()


def test_room_is_made_before_anything_is_written(
    tree: Path, artifacts: StoredArtifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[Path, int] = {}
    monkeypatch.setattr(locks, "_held", held)
    cache = NodeCache(tmp_path / "cache", max_bytes=500)
    (tree / "model.bin").write_bytes(b"1" * 300)
    first = upload_tree(tree, artifacts).digest
    cache.weights(first, artifacts)
    release(held, first)
    (tree / "model.bin").write_bytes(b"2" * 300)
    second = upload_tree(tree, artifacts).digest
    seen: list[bool] = []
    cache.weights(second, artifacts, lambda *_: seen.append((cache.root / "manifests" / first).exists()))
    assert set(seen) == {False}


def test_another_processes_download_is_no_leftover(
    tree: Path, artifacts: StoredArtifacts, cache: NodeCache
) -> None:
    live = cache.root / "manifests" / f".{'a' * 64}.partial"
    live.mkdir(parents=True)
    with locks.exclusive(cache.root / "locks" / f"manifests-{'a' * 64}.lock"):
        cache.weights(upload_tree(tree, artifacts).digest, artifacts)
        assert live.exists()


def test_unused_entries_make_room(
    tree: Path, artifacts: StoredArtifacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for version in (b"v1", b"v2", b"v3"):
        (tree / "model.bin").write_bytes(version * 100)
        digests.append(upload_tree(tree, artifacts).digest)
    cache = NodeCache(tmp_path / "cache", max_bytes=300)
    held: dict[Path, int] = {}
    monkeypatch.setattr(locks, "_held", held)
    kept = cache.weights(digests[0], artifacts)
    cache.weights(digests[1], artifacts)
    # In use by this process: both stay although the cache is over its bound.
    assert len(list((cache.root / "manifests").iterdir())) == 2
    release(held, digests[1])
    newest = cache.weights(digests[2], artifacts)
    assert sorted(entry.name for entry in (cache.root / "manifests").iterdir()) == sorted(
        [digests[0], digests[2]]
    )
    assert (kept / "model.bin").read_bytes() == b"v1" * 100
    assert (newest / "model.bin").read_bytes() == b"v3" * 100


def release(held: dict[Path, int], digest: str) -> None:
    """What the kernel does when a process ends."""
    (path,) = [path for path in held if digest in path.name]
    os.close(held.pop(path))


def unpack(data: bytes, target: Path) -> None:
    (target / "pkg").mkdir(parents=True)
    (target / "pkg" / "code.py").write_bytes(data)


def test_a_bundle_is_unpacked_once_and_read_only(
    artifacts: StoredArtifacts, gets: list[tuple[str, str]], cache: NodeCache
) -> None:
    artifacts.put("bundles", CODE, b"x = 1")
    path = cache.bundle(CODE, artifacts, unpack)
    assert (path / "pkg" / "code.py").read_bytes() == b"x = 1"
    assert stat.S_IMODE((path / "pkg" / "code.py").stat().st_mode) == 0o444
    assert cache.bundle(CODE, artifacts, unpack) == path
    assert gets == [("bundles", CODE)]


def test_a_bundle_that_cannot_be_unpacked_leaves_nothing(
    artifacts: StoredArtifacts, cache: NodeCache
) -> None:
    artifacts.put("bundles", CODE, b"x = 1")

    def refuse(data: bytes, target: Path) -> None:
        unpack(data, target)
        raise CorruptArtifact("bad")

    with pytest.raises(CorruptArtifact):
        cache.bundle(CODE, artifacts, refuse)
    assert list((cache.root / "bundles").iterdir()) == []
    with pytest.raises(ArtifactNotFound):
        cache.bundle("d" * 64, artifacts, unpack)


@pytest.mark.parametrize("name", ["", "..", "../x", "A" * 64])
def test_hostile_names_touch_nothing(artifacts: StoredArtifacts, cache: NodeCache, name: str) -> None:
    with pytest.raises(InvalidName):
        cache.weights(name, artifacts)
    with pytest.raises(InvalidName):
        cache.bundle(name, artifacts, unpack)
    assert not cache.root.exists()


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("ROOST_CACHE_DIR", raising=False)
    monkeypatch.delenv("ROOST_HOME", raising=False)
    assert default_cache_dir() == Path("/home/me/.roost/cache")
    monkeypatch.setenv("ROOST_HOME", "~/house")
    assert default_cache_dir() == Path("/home/me/house/cache")
    monkeypatch.setenv("ROOST_CACHE_DIR", "~/elsewhere")
    assert default_cache_dir() == Path("/home/me/elsewhere")


def test_its_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ROOST_CACHE_MAX_GB", raising=False)
    assert default_max_bytes(tmp_path) > 0
    monkeypatch.setenv("ROOST_CACHE_MAX_GB", "1.5")
    assert default_max_bytes(tmp_path) == 1_500_000_000
    for bad in ("", "x", "-1", "0", "inf", "nan"):
        monkeypatch.setenv("ROOST_CACHE_MAX_GB", bad)
        with pytest.raises(BadRequest, match="ROOST_CACHE_MAX_GB"):
            default_max_bytes(tmp_path)
