"""A writer of one model in a process of its own; `test_claims_race.py` starts several.

Arguments: the URL of the records, the folder of the storage, the writer's name, the last step
(`claim`: hold the claim until stdin closes; `commit`: go through). A line on stdin lets it begin.
It prints one word per step: `ready`, then `claimed` or `busy`, then `committed` or `lost`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy
from roost.keys import ModelKey
from roost.records.database import Database
from roost.services.clock import SystemClock
from roost.services.models import Models
from roost.storage.artifacts import StoredArtifacts
from roost.storage.store import ObjectStore
from roost.storage.upload import upload_tree

KEY = ModelKey("yolo", "coco", "run-1")
BUNDLE = "a" * 64


def main(url: str, folder: Path, writer: str, last_step: str) -> None:
    """Write the model whose every file holds this writer's name."""
    database = Database(url)
    artifacts = StoredArtifacts(ObjectStore.open((folder / "storage").as_uri()))
    models = Models(database, artifacts, SystemClock())
    artifacts.put("bundles", BUNDLE, b"zip")
    say("ready")
    sys.stdin.readline()
    try:
        claim = models.claim(KEY, ClaimRequest(mode="save", writer=writer))
    except ModelBusy:
        say("busy")
        return
    say("claimed")
    manifest = upload_tree(weights_of(folder, writer), artifacts)
    if last_step == "claim":
        sys.stdin.readline()
    servable = ServableRef(class_path="pkg:Model", kind="serve_app", bundle_fingerprint=BUNDLE)
    request = CommitRequest(manifest_digest=manifest.digest, servable=servable, config={"writer": writer})
    assert claim.token is not None
    try:
        models.commit(KEY, claim.token, request)
    except ModelBusy:
        say("lost")
        return
    say("committed")


def weights_of(folder: Path, writer: str) -> Path:
    """A tree in which every file says whose it is."""
    tree = folder / writer
    (tree / "deep" / "er").mkdir(parents=True)
    for path in ("a.bin", "deep/b.bin", "deep/er/c.bin"):
        (tree / path).write_text(f"{path} of {writer}")
    return tree


def say(word: str) -> None:
    """Tell the test."""
    print(word, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
