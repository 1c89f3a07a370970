"""A writer in a process of its own that does whatever a writer may; `test_random_writers.py` starts several.

Arguments: the URL of the records, the folder of the storage, the writer's name, a seed, how many steps.
A line on stdin lets it begin. It prints a line for each commit and deletion that it was told had happened.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from roost.contracts.model import ClaimRequest, CommitRequest, SavedModel
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy, ModelNotFound
from roost.keys import ModelKey
from roost.records.database import Database
from roost.services.models import Models
from roost.storage.artifacts import StoredArtifacts, sha256
from roost.storage.manifest import Chunk, FileEntry, Manifest
from roost.storage.store import ObjectStore
from roost.testing.fake_clock import FakeClock

KEYS = (ModelKey("f", "s", "r"), ModelKey("f", "s", "r1"), ModelKey("f", "s_", "r"))


@dataclass(frozen=True)
class Attempt:
    """One upload: everything of it says whose it is."""

    key: ModelKey
    token: str
    name: str

    def request(self, artifacts: StoredArtifacts) -> CommitRequest:
        """Upload it; what finishes it."""
        digest = upload(self.name, artifacts)
        servable = ServableRef(
            class_path=f"pkg:{self.name}", kind="serve_app", bundle_fingerprint=sha256(self.name.encode())
        )
        return CommitRequest(
            manifest_digest=digest,
            servable=servable,
            config={"attempt": self.name},
            requirements=ModelRequirements(ram_gb=len(self.name)),
        )


def find_mixture(saved: SavedModel) -> str | None:
    """What of a finished entry is not of the attempt that its config names; None when it is whole."""
    name = saved.config.get("attempt", "")
    wanted = {
        "class_path": f"pkg:{name}",
        "bundle_fingerprint": sha256(name.encode()),
        "digest": manifest(name).digest,
        "size_bytes": len(name),
        "requirements": ModelRequirements(ram_gb=len(name)),
    }
    found = {field: getattr(saved, field) for field in wanted}
    return None if found == wanted else f"{found} is not {wanted}"


def manifest(name: str) -> Manifest:
    """Of a tree with one file, which holds the attempt's name."""
    chunk = Chunk(sha256=sha256(name.encode()), size=len(name))
    file = FileEntry(path="weights.bin", size=len(name), executable=False, chunks=[chunk])
    return Manifest(files=[file], links=[], directories=[])


def upload(name: str, artifacts: StoredArtifacts) -> str:
    """Store the tree and the bundle of an attempt; the manifest's digest."""
    tree = manifest(name)
    artifacts.put("chunks", sha256(name.encode()), name.encode())
    artifacts.put("manifests", tree.digest, tree.encode())
    artifacts.put("bundles", sha256(name.encode()), b"zip")
    return tree.digest


class Writer:
    """Takes random steps; its clock goes its own way, so that claims lapse for some and not for others."""

    def __init__(self, url: str, folder: str, name: str, seed: int) -> None:
        self.name = name
        self.random = random.Random(f"{name} {seed}")
        self.clock = FakeClock()
        self.artifacts = StoredArtifacts(ObjectStore.open(Path(folder).as_uri()))
        self.models = Models(Database(url, busy_timeout_s=60), self.artifacts, self.clock)
        self.attempts: list[Attempt] = []
        self.begun = 0

    def step(self) -> None:
        """One step; also with a claim that was lost, or that was committed before."""
        self.clock.advance(self.random.choice((0, 1, 5, 20)))
        act = self.random.choice((self.claim, self.claim, self.renew, self.commit, self.commit, self.end))
        try:
            act()
        except (ModelBusy, ModelNotFound):
            return

    def claim(self) -> None:
        key = self.random.choice(KEYS)
        token = self.models.claim(key, ClaimRequest(mode="save", writer=self.name)).token
        assert token is not None
        self.begun += 1
        self.attempts.append(Attempt(key, token, f"{self.name}-{self.begun}"))

    def renew(self) -> None:
        attempt = self.any_attempt()
        self.models.renew(attempt.key, attempt.token)

    def commit(self) -> None:
        attempt = self.any_attempt()
        saved = self.models.commit(attempt.key, attempt.token, attempt.request(self.artifacts))
        assert saved.config == {"attempt": attempt.name}, saved
        say({"committed": attempt.name, "key": str(attempt.key)})

    def end(self) -> None:
        if self.random.random() < 0.5:
            key = self.random.choice(KEYS)
            self.models.delete(key)
            say({"deleted": str(key)})
            return
        attempt = self.any_attempt()
        self.models.abandon(attempt.key, attempt.token, "no reason")

    def any_attempt(self) -> Attempt:
        """One of the latest; none is as good as busy."""
        if not self.attempts:
            raise ModelBusy("nothing was begun")
        return self.random.choice(self.attempts[-4:])


def say(fact: dict[str, str]) -> None:
    """Tell the test."""
    print(json.dumps(fact), flush=True)


def main(url: str, folder: str, name: str, seed: str, steps: str) -> None:
    """Go."""
    writer = Writer(url, folder, name, int(seed))
    say({"ready": name})
    sys.stdin.readline()
    for _ in range(int(steps)):
        writer.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
