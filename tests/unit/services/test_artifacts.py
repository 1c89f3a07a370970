from __future__ import annotations

import pytest

from roost.contracts.servable import ServableRef
from roost.errors import ArtifactNotFound, BadRequest, CorruptArtifact, InvalidName
from roost.services.artifacts import MAX_NAMES, Artifacts
from roost.storage.artifacts import sha256
from roost.testing.memory_store import MemoryStore

HELLO = sha256(b"hello")
WORLD = sha256(b"world")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def artifacts(store: MemoryStore) -> Artifacts:
    return Artifacts(store)


def test_what_is_missing_comes_once_in_the_order_asked(artifacts: Artifacts) -> None:
    others = [sha256(bytes([i])) for i in range(5)]
    artifacts.put("chunks", HELLO, b"hello")
    asked = [others[4], HELLO, others[0], others[4], others[2]]
    assert artifacts.missing("chunks", asked) == [others[4], others[0], others[2]]
    assert artifacts.missing("manifests", [HELLO]) == [HELLO]
    assert artifacts.missing("chunks", []) == []


def test_too_many_names_at_once_are_refused(artifacts: Artifacts) -> None:
    assert artifacts.missing("chunks", [HELLO] * MAX_NAMES) == [HELLO]
    with pytest.raises(BadRequest, match="10001 names were asked for at once, at most 10000"):
        artifacts.missing("chunks", [HELLO] * (MAX_NAMES + 1))


def test_bytes_come_back(artifacts: Artifacts) -> None:
    artifacts.put("chunks", HELLO, b"hello")
    artifacts.put("chunks", HELLO, b"hello")
    assert artifacts.get("chunks", HELLO) == b"hello"
    artifacts.put("bundles", WORLD, b"a zip that has another digest")
    assert artifacts.get("bundles", WORLD) == b"a zip that has another digest"
    with pytest.raises(ArtifactNotFound, match=WORLD):
        artifacts.get("chunks", WORLD)


def test_wrong_bytes_are_refused_and_altered_ones_named(artifacts: Artifacts, store: MemoryStore) -> None:
    with pytest.raises(BadRequest, match=HELLO):
        artifacts.put("chunks", HELLO, b"world")
    with pytest.raises(BadRequest):
        artifacts.put("chunks", sha256(b""), b"")
    assert store.objects == {}
    artifacts.put("chunks", HELLO, b"hello")
    store.objects["chunks", HELLO] = b"hell"
    with pytest.raises(CorruptArtifact, match=HELLO):
        artifacts.get("chunks", HELLO)


@pytest.mark.parametrize("name", ["", "..", "a" * 63, "A" * 64, "../" + "a" * 61, "a" * 64 + "\n", "\0"])
def test_hostile_names_are_refused(artifacts: Artifacts, name: str) -> None:
    with pytest.raises(InvalidName):
        artifacts.missing("chunks", [name])
    with pytest.raises(InvalidName):
        artifacts.put("bundles", name, b"x")
    with pytest.raises(InvalidName):
        artifacts.get("manifests", name)


def test_a_bundle_that_is_not_there_is_named_with_its_class(artifacts: Artifacts) -> None:
    servable = ServableRef(class_path="a.b:C", kind="serve_app", bundle_fingerprint=WORLD)
    with pytest.raises(ArtifactNotFound, match=f"The bundle '{WORLD}' of 'a.b:C' is not in storage"):
        artifacts.check_bundle(servable)
    artifacts.put("bundles", WORLD, b"zip")
    artifacts.check_bundle(servable)
