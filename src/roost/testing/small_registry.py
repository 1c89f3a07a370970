"""A registry of small models over a real store and real records, all by one clock."""

from __future__ import annotations

from pathlib import Path

from roost.contracts.artifact import ArtifactKind
from roost.contracts.garbage import GarbageReport
from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.servable import ServableRef
from roost.keys import ModelKey
from roost.records.tables import METADATA
from roost.services.garbage import Garbage
from roost.services.models import Models
from roost.storage.artifacts import StoredArtifacts, sha256
from roost.storage.download import fetch_manifest
from roost.storage.manifest import Chunk, FileEntry, Manifest
from roost.storage.trash import TRASH
from roost.testing.clocked_store import ClockedStore, Life, MortalDatabase
from roost.testing.fake_clock import FakeClock

DAY_S = 86_400.0


class SmallRegistry:
    """Saves, loads and collects models of a few bytes, each file a chunk of its own.

    Args:
        folder: For the records.
        url: `memory:///` behaves like a bucket.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.clock = FakeClock()
        self.life = Life()
        self.db = MortalDatabase(f"sqlite:///{folder}/records.db")
        self.db.life = self.life
        METADATA.create_all(self.db.engine)
        self.store = ClockedStore.at(url, self.clock, self.life)
        self.artifacts = StoredArtifacts(self.store)
        self.models = Models(self.db, self.artifacts, self.clock)
        self.garbage = Garbage(self.db, self.store, self.clock, holder="one", grace_s=DAY_S)

    def claim(self, name: str) -> str:
        """Begin to save `f/s/<name>`; the claim's token."""
        token = self.models.claim(self.key(name), ClaimRequest(mode="save", writer="ann")).token
        assert token is not None
        return token

    def upload(self, *parts: str) -> str:
        """Store weights with a file for each part, as `upload_tree` does; the digest."""
        for part in parts:
            self._send("chunks", content(part))
        manifest = Manifest(files=[_file(part) for part in sorted(parts)], links=[], directories=[])
        self._send("manifests", manifest.encode())
        return manifest.digest

    def commit(self, name: str, token: str, digest: str, *, bundle: str = "bundle") -> None:
        """Finish the claim with these weights and a bundle of this text."""
        fingerprint = self._send("bundles", bundle.encode())
        servable = ServableRef(
            class_path="m:M", kind="serve_app", capability=None, bundle_fingerprint=fingerprint, pins=[]
        )
        self.models.commit(self.key(name), token, CommitRequest(manifest_digest=digest, servable=servable))

    def save(self, name: str, *parts: str, bundle: str = "bundle") -> None:
        """Claim, upload, commit."""
        token = self.claim(name)
        self.commit(name, token, self.upload(*parts), bundle=bundle)

    def is_whole(self, name: str, *parts: str) -> bool:
        """Whether a load by the storage alone gives these parts."""
        saved = self.models.get(self.key(name))
        files = {
            file.path: b"".join(self._bytes(run) for run in file.chunks)
            for file in fetch_manifest(saved.digest, self.artifacts).files
        }
        return bool(self.artifacts.get("bundles", saved.bundle_fingerprint)) and files == {
            f"{part}.bin": content(part) for part in parts
        }

    def collect(self, *, grace_s: float | None = None, dry_run: bool = False) -> GarbageReport:
        """One collection."""
        return self.garbage.collect(grace_s=grace_s, dry_run=dry_run)

    def stored(self) -> set[str]:
        """Paths of all objects but the trash."""
        return {path for path in self.store.list() if not path.startswith(f"{TRASH}/")}

    def trashed(self) -> set[str]:
        """Where the objects in the trash belong."""
        return {path.removeprefix(f"{TRASH}/") for path in self.store.list(TRASH)}

    def close(self) -> None:
        """Close the records."""
        self.db.close()

    def _send(self, kind: ArtifactKind, data: bytes) -> str:
        name = sha256(data)
        if self.artifacts.missing(kind, [name]):
            self.artifacts.put(kind, name, data)
        return name

    def _bytes(self, run: Chunk) -> bytes:
        return self.artifacts.get("chunks", run.sha256)[run.offset : run.end]

    @staticmethod
    def key(name: str) -> ModelKey:
        """`f/s/<name>`."""
        return ModelKey("f", "s", name)


def content(part: str) -> bytes:
    """The bytes of the file of a part."""
    return f"The bytes of {part}.".encode()


def chunk(part: str) -> str:
    """Where storage has the chunk of a part."""
    name = sha256(content(part))
    return f"chunks/{name[:2]}/{name}"


def _file(part: str) -> FileEntry:
    data = content(part)
    run = Chunk(sha256=sha256(data), size=len(data))
    return FileEntry(path=f"{part}.bin", size=len(data), executable=False, chunks=[run])
