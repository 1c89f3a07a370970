"""kill -9 at fifty points of a save: the old model or the new one, never a mix, and nothing left behind."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from roost.storage.artifacts import artifact_path
from roost.storage.download import download_tree
from roost.storage.durable import STAGING
from roost.storage.local_tree import remove_tree
from roost.storage.manifest import Manifest
from roost.storage.packing import lay_out
from roost.storage.store import ObjectStore
from roost.storage.upload import upload_tree
from roost.testing.in_process import InProcessServer
from roost.testing.led_process import LedProcess
from roost.testing.memory_store import MemoryStore

SCRIPT = Path(__file__).with_name("killed_saver.py")
POINTS, SEED = 50, 4
LAPSED = timedelta(minutes=2)
"""By then a claim of a killed writer has lapsed."""

NAMES = [name for name in (f"part-{n}" for n in range(1000)) if len(list(lay_out({name: 1, "z": 1}))) == 2][
    :9
]
"""Names after which a chunk ends, so that a file of a few bytes has one of its own."""


class Place:
    """The records and the storage, and the process that saves there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = datetime.now(UTC)
        self.saver = LedProcess([str(SCRIPT), str(folder)])
        self.objects = ObjectStore.open((folder / "storage").as_uri())

    def save(self, tree: Path, kill_at: int = -1) -> str:
        """Save in a process of its own; what the saver says."""
        order = {"tree": str(tree), "kill_at": kill_at, "now": self.now.isoformat()}
        self.saver.go_on(json.dumps(order))
        return self.saver.says()

    def stored(self) -> dict[str, datetime]:
        """Every object and when it was written."""
        return {info.path: info.modified for info in self.objects.list_infos()}

    def later(self, by: timedelta) -> None:
        self.now += by

    def close(self) -> None:
        self.saver.end()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.close()


@pytest.fixture
def saver() -> ModuleType:
    """The saver's module, to do here what it does there."""
    spec = importlib.util.spec_from_file_location("killed_saver", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_tree(root: Path, version: int) -> Path:
    """Files of a chunk each, of which two stay from version to version, and some that share a chunk."""
    (root / "deep").mkdir(parents=True, exist_ok=True)
    for n, name in enumerate(NAMES):
        if n >= 2 or version == 0:
            (root / name).write_text(f"{name} of version {version}")
    for n in range(20):
        (root / "deep" / f"{n}.txt").write_text(f"{n} of version {version}")
    return root


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def objects_of(manifest: Manifest) -> set[str]:
    chunks = {artifact_path("chunks", name) for name in manifest.chunk_names()}
    return chunks | {artifact_path("manifests", manifest.digest)}


def load(server: InProcessServer, key: object, target: Path) -> tuple[str, dict[str, bytes]]:
    """The digest of the model as it can be deployed now, and its files."""
    digest: str = server.models.get_ready(key).saved.digest  # type: ignore[arg-type]
    download_tree(digest, server.artifacts, target)
    found = contents(target)
    remove_tree(target)
    return digest, found


def test_fifty_kills(place: Place, saver: ModuleType, tmp_path: Path) -> None:
    place.save(make_tree(tmp_path / "tree", 0))
    tree = make_tree(tmp_path / "tree", 1)
    steps = int(place.save(tree))
    assert steps > POINTS
    points = random.Random(SEED).sample(range(steps), POINTS)
    entry = saver.entry_of(tmp_path)
    whole, ends = contents(tree), {"old": 0, "new": 0}
    manifest = upload_tree(tree, MemoryStore())
    server = saver.server_of(tmp_path, place.now)
    for version, point in enumerate(points, start=2):
        old, old_manifest = whole, manifest
        make_tree(tree, version)
        whole, manifest = contents(tree), upload_tree(tree, MemoryStore())
        assert place.save(tree, point) == "killed", point
        place.later(LAPSED)
        saver.set_clock(server, place.now)
        digest, found = load(server, saver.KEY, tmp_path / "loaded")
        assert (digest, found) in [(old_manifest.digest, old), (manifest.digest, whole)], point
        ends["old" if digest == old_manifest.digest else "new"] += 1
        before = place.stored()
        saver.save(server, entry, tree)
        written = {path for path, modified in place.stored().items() if before.get(path) != modified}
        assert written == objects_of(manifest) - set(before), point
        assert server.models.get(saver.KEY).digest == manifest.digest
    assert ends["old"] > POINTS // 2
    # What was killed left objects behind; two collections later there is the last version and nothing else.
    for _ in range(2):
        place.later(timedelta(hours=25))
        saver.set_clock(server, place.now)
        server.garbage.collect()
    bundle = artifact_path("bundles", entry.servable.bundle.fingerprint)
    assert set(place.stored()) == objects_of(manifest) | {bundle, "storage-id"}
    assert list(place.objects.list_infos(STAGING)) == []
    assert load(server, saver.KEY, tmp_path / "loaded") == (manifest.digest, whole)
    server.close()
