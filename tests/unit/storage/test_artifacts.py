from __future__ import annotations

from pathlib import Path

import pytest

from roost.contracts.artifact import ArtifactKind
from roost.errors import ArtifactNotFound, BadRequest, CorruptArtifact, InvalidName, InvalidWeights
from roost.storage.artifacts import StoredArtifacts, artifact_path
from roost.storage.store import ObjectStore

HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
OTHER = "f" * 64


@pytest.fixture
def stored(storage_dir: Path) -> StoredArtifacts:
    return StoredArtifacts(ObjectStore.open(storage_dir.as_uri()))


def test_layout() -> None:
    assert artifact_path("chunks", HELLO) == f"chunks/2c/{HELLO}"
    assert artifact_path("manifests", HELLO) == f"manifests/{HELLO}.json"
    assert artifact_path("bundles", HELLO) == f"bundles/{HELLO}.zip"


def test_a_chunk_comes_back(stored: StoredArtifacts) -> None:
    assert stored.missing("chunks", [HELLO, OTHER]) == {HELLO, OTHER}
    stored.put("chunks", HELLO, b"hello")
    stored.put("chunks", HELLO, b"hello")
    assert stored.get("chunks", HELLO) == b"hello"
    assert stored.missing("chunks", [HELLO, OTHER]) == {OTHER}
    assert stored.missing("chunks", []) == set()


def test_a_bundle_is_opaque(stored: StoredArtifacts) -> None:
    stored.put("bundles", OTHER, b"zip")
    assert stored.get("bundles", OTHER) == b"zip"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "abc",
        "../" + "a" * 61,
        "/" + "a" * 63,
        "A" * 64,
        "a" * 63 + "\n",
        "a" * 64 + "\n",
        "a" * 65,
        "٠" * 64,
    ],
)
@pytest.mark.parametrize("kind", ["chunks", "manifests", "bundles"])
def test_hostile_names_are_refused(stored: StoredArtifacts, kind: ArtifactKind, name: str) -> None:
    with pytest.raises(InvalidName):
        stored.get(kind, name)
    with pytest.raises(InvalidName):
        stored.put(kind, name, b"x")
    with pytest.raises(InvalidName):
        stored.missing(kind, [HELLO, name])


def test_an_unknown_kind_is_refused(stored: StoredArtifacts) -> None:
    with pytest.raises(InvalidName, match="one of chunks, manifests, bundles"):
        stored.get("../x", HELLO)  # type: ignore[arg-type]


def test_bytes_that_do_not_match_are_not_stored(stored: StoredArtifacts) -> None:
    with pytest.raises(BadRequest, match=OTHER):
        stored.put("chunks", OTHER, b"hello")
    with pytest.raises(BadRequest, match="no bytes"):
        stored.put("bundles", OTHER, b"")
    with pytest.raises(InvalidWeights):
        stored.put("manifests", HELLO, b"hello")
    assert stored.missing("chunks", [OTHER]) == {OTHER}


@pytest.mark.parametrize("damage", [b"hell", b"hellO", b"hello!"])
def test_altered_bytes_are_named_and_healed_by_saving_again(
    stored: StoredArtifacts, storage_dir: Path, damage: bytes
) -> None:
    stored.put("chunks", HELLO, b"hello")
    (storage_dir / artifact_path("chunks", HELLO)).write_bytes(damage)
    for _ in range(2):
        with pytest.raises(CorruptArtifact, match=HELLO):
            stored.get("chunks", HELLO)
    assert stored.missing("chunks", [HELLO]) == {HELLO}
    stored.put("chunks", HELLO, b"hello")
    assert stored.get("chunks", HELLO) == b"hello"


def test_an_emptied_object_counts_as_missing(stored: StoredArtifacts, storage_dir: Path) -> None:
    stored.put("chunks", HELLO, b"hello")
    (storage_dir / artifact_path("chunks", HELLO)).write_bytes(b"")
    assert stored.missing("chunks", [HELLO]) == {HELLO}


def test_what_is_not_stored_is_named(stored: StoredArtifacts) -> None:
    with pytest.raises(ArtifactNotFound, match=f"manifest '{OTHER}' is not in storage"):
        stored.get("manifests", OTHER)
