"""Records never come to refer to what a collection has deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.servable import ServableRef
from roost.errors import ArtifactNotFound, Unavailable
from roost.records.trash import note_emptying
from roost.services.kept import write_kept
from roost.storage.artifacts import sha256
from roost.testing.small_registry import SmallRegistry


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SmallRegistry]:
    registry = SmallRegistry(tmp_path, "memory:///")
    yield registry
    registry.close()


def test_what_was_found_before_the_trash_was_emptied_is_found_again(registry: SmallRegistry) -> None:
    found: list[int] = []

    def find() -> int:
        found.append(len(found))
        if len(found) < 3:
            with registry.db.write() as session:
                note_emptying(session)
        return found[-1]

    def write(_session: Session, number: int) -> int:
        return number

    assert write_kept(registry.db, find, write) == 2
    assert found == [0, 1, 2]


def test_it_gives_up_in_the_end(registry: SmallRegistry) -> None:
    def find() -> None:
        with registry.db.write() as session:
            note_emptying(session)

    with pytest.raises(Unavailable, match="again and again"):
        write_kept(registry.db, find, lambda _session, _found: pytest.fail("written"))


def collect_before_the_next_write(registry: SmallRegistry) -> None:
    """The collection, without a grace, comes between a check and the write that follows it."""
    at = registry.life.writes

    def collect(number: int) -> None:
        if number == at:
            registry.collect(grace_s=0)

    registry.life.before = collect


def test_a_bundle_that_was_deleted_after_it_was_checked_is_not_referred_to(registry: SmallRegistry) -> None:
    registry.save("one", "a")
    new = sha256(b"new")
    registry.artifacts.put("bundles", new, b"new")
    collect_before_the_next_write(registry)
    with pytest.raises(ArtifactNotFound, match=new):
        registry.models.refresh_bundle(
            registry.key("one"), ServableRef(class_path="m:M", kind="serve_app", bundle_fingerprint=new)
        )
    assert registry.is_whole("one", "a")


def test_a_commit_under_a_claim_that_lapsed_is_checked_again(registry: SmallRegistry) -> None:
    token = registry.claim("one")
    digest, bundle = registry.upload("a"), sha256(b"bundle")
    registry.artifacts.put("bundles", bundle, b"bundle")
    registry.clock.advance(31)
    servable = ServableRef(class_path="m:M", kind="serve_app", bundle_fingerprint=bundle)
    request = CommitRequest(manifest_digest=digest, servable=servable)
    collect_before_the_next_write(registry)
    with pytest.raises(ArtifactNotFound, match=digest):
        registry.models.commit(registry.key("one"), token, request)
    registry.life.before = lambda _number: None
    assert registry.models.get(registry.key("one")).phase == "broken"
    token = registry.models.claim(registry.key("one"), ClaimRequest(mode="save", writer="ann")).token or ""
    assert registry.upload("a") == digest
    registry.commit("one", token, digest)
    assert registry.is_whole("one", "a")
