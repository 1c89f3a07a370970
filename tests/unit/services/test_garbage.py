"""Collections of garbage, on a folder and on a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.contracts.garbage import GarbageLine, GarbageReport
from roost.errors import ArtifactNotFound, Conflict, Unavailable
from roost.records.leases import take_lease
from roost.records.trash import read_trash
from roost.services.garbage_turn import LEASE, LEASE_S
from roost.storage.artifacts import artifact_path, sha256
from roost.testing.small_registry import DAY_S, SmallRegistry, chunk, content

BUNDLE = artifact_path("bundles", sha256(b"bundle"))
OTHER_BUNDLE = artifact_path("bundles", sha256(b"other"))


@pytest.fixture(params=["folder", "bucket"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallRegistry]:
    url = (tmp_path / "storage").as_uri() if request.param == "folder" else "memory:///"
    registry = SmallRegistry(tmp_path, url)
    yield registry
    registry.close()


def manifest(registry: SmallRegistry, name: str) -> str:
    return artifact_path("manifests", registry.models.get(registry.key(name)).digest)


def lines(report: GarbageReport) -> set[tuple[str, str, int, str]]:
    return {(line.action, line.kind, line.count, line.reason) for line in report.lines}


def test_what_models_refer_to_is_kept(registry: SmallRegistry) -> None:
    registry.save("one", "a", "b")
    registry.clock.advance(30 * DAY_S)
    before = registry.stored()
    report = registry.collect()
    assert lines(report) == {
        ("kept", "manifests", 1, "in use"),
        ("kept", "chunks", 2, "in use"),
        ("kept", "bundles", 1, "in use"),
    }
    assert registry.stored() == before
    assert registry.trashed() == set()


def test_a_deleted_model_goes_by_way_of_the_trash_and_leaves_what_others_share(
    registry: SmallRegistry,
) -> None:
    registry.save("one", "a", "b")
    registry.save("two", "b", "c", bundle="other")
    gone = {manifest(registry, "two"), chunk("c"), OTHER_BUNDLE}
    registry.models.delete(registry.key("two"))

    registry.clock.advance(DAY_S - 1)
    assert registry.collect().total("moved") == (0, 0)
    registry.clock.advance(1)
    report = registry.collect()
    assert registry.trashed() == gone
    assert not gone & registry.stored()
    assert {line for line in lines(report) if line[0] == "moved"} == {
        ("moved", "manifests", 1, "nothing refers to it"),
        ("moved", "chunks", 1, "nothing refers to it"),
        ("moved", "bundles", 1, "nothing refers to it"),
    }

    registry.clock.advance(DAY_S - 1)
    assert registry.collect().total("freed") == (0, 0)
    registry.clock.advance(1)
    report = registry.collect()
    assert ("freed", "chunks", 1, "in the trash for the grace") in lines(report)
    assert report.total("freed")[0] == 3
    assert registry.trashed() == set()
    with registry.db.read() as session:
        assert read_trash(session) == {}
    assert registry.is_whole("one", "a", "b")


def test_a_dry_run_says_the_same_and_changes_nothing(registry: SmallRegistry) -> None:
    registry.save("one", "a")
    registry.save("two", "b")
    registry.models.delete(registry.key("two"))
    registry.clock.advance(DAY_S)
    before, writes = registry.stored(), registry.life.writes
    dry = registry.collect(dry_run=True)
    assert registry.stored() == before
    assert registry.life.writes == writes + 2  # the lease, taken and given back
    real = registry.collect()
    assert (dry.dry_run, real.dry_run) == (True, False)
    assert dry.lines == real.lines
    assert registry.collect(dry_run=True, grace_s=0).total("freed") == (2, dry.total("moved")[1])
    assert GarbageLine(
        kind="chunks", action="moved", reason="nothing refers to it", count=1, size_bytes=len(content("b"))
    ) in (dry.lines)


def test_without_a_grace_all_goes_at_once(registry: SmallRegistry) -> None:
    registry.save("one", "a")
    registry.upload("x", "y")
    report = registry.collect(grace_s=0)
    assert report.total("moved")[0] == report.total("freed")[0] == 3
    assert registry.trashed() == set()
    assert registry.stored() == {manifest(registry, "one"), chunk("a"), BUNDLE}
    assert registry.is_whole("one", "a")


def test_without_a_grace_an_upload_under_way_loses_nothing(registry: SmallRegistry) -> None:
    registry.upload("old")
    registry.clock.advance(3600)
    token = registry.claim("one")
    registry.clock.advance(10)
    digest = registry.upload("old", "new")
    report = registry.collect(grace_s=0)
    # What was sent since the claim began stays in its place; what it found may lie in the trash.
    assert ("kept", "chunks", 1, "an upload is under way") in lines(report)
    assert report.total("freed") == (0, 0)
    assert chunk("new") in registry.stored()
    registry.commit("one", token, digest)
    assert registry.is_whole("one", "old", "new")
    registry.collect(grace_s=0)
    assert registry.trashed() == set()
    assert registry.is_whole("one", "old", "new")


def test_what_a_claim_that_lapsed_has_stored_goes(registry: SmallRegistry) -> None:
    registry.claim("one")
    registry.upload("new")
    registry.clock.advance(31)
    registry.collect(grace_s=0)
    assert registry.stored() == set()


MOMENTS = {"before it is moved": 5, "after it is moved": 6, "while it is deleted": 8}
"""Writes of the run: lease; note, move, note (the manifest); the same (the chunk); emptying; deletes."""


@pytest.mark.parametrize("commits_at_once", [True, False])
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_upload_counts_on_an_old_chunk_while_a_run_moves_it(
    registry: SmallRegistry, moment: str, commits_at_once: bool
) -> None:
    registry.save("one", "a")
    registry.upload("old")
    registry.clock.advance(3600)
    at = registry.life.writes + MOMENTS[moment]
    places: list[bool] = []
    begun: list[str] = []

    def meanwhile(number: int) -> None:
        if number != at or places:
            return
        places.append(chunk("old") in registry.stored())
        begun.extend((registry.claim("two"), registry.upload("old", "new")))
        if commits_at_once:
            registry.commit("two", *begun)

    registry.life.before = meanwhile
    registry.collect(grace_s=0)
    assert places == [moment == "before it is moved"]
    if not commits_at_once:
        registry.commit("two", *begun)
    assert registry.is_whole("two", "old", "new")
    registry.collect(grace_s=0)
    assert registry.is_whole("two", "old", "new")
    assert registry.is_whole("one", "a")


def test_what_is_needed_again_is_brought_back(registry: SmallRegistry) -> None:
    registry.save("one", "a")
    registry.models.delete(registry.key("one"))
    registry.clock.advance(DAY_S)
    registry.collect()
    assert registry.stored() == set()
    sent = registry.life.writes
    registry.save("one", "a")
    assert registry.is_whole("one", "a")
    # Claim, commit, and the three that were brought back; nothing was sent again.
    assert registry.life.writes == sent + 5
    registry.clock.advance(DAY_S)
    registry.collect()
    assert registry.trashed() == set()
    assert registry.is_whole("one", "a")


def test_what_lies_in_the_trash_and_is_referred_to_is_brought_back_by_the_next_run(
    registry: SmallRegistry,
) -> None:
    registry.save("one", "a")
    for path in sorted(registry.stored()):
        registry.store.move(path, f"trash/{path}")
    report = registry.collect()
    assert report.total("restored")[0] == 3
    assert registry.stored() == {manifest(registry, "one"), chunk("a"), BUNDLE}
    assert registry.collect().total("restored") == (0, 0)


def test_two_runs_at_once(registry: SmallRegistry) -> None:
    with registry.db.write() as session:
        take_lease(session, LEASE, "another/1", now=registry.clock.now(), lease_s=LEASE_S)
    with pytest.raises(Conflict, match="by server 'another/1'"):
        registry.collect()
    registry.clock.advance(LEASE_S)
    registry.collect()
    registry.collect()


def test_a_run_that_was_taken_over_ends(registry: SmallRegistry) -> None:
    registry.upload("a")
    registry.clock.advance(DAY_S)
    started = registry.life.writes

    def take_over(number: int) -> None:
        if number == started + 1:
            registry.clock.advance(LEASE_S)
            with registry.db.write() as session:
                take_lease(session, LEASE, "another/1", now=registry.clock.now(), lease_s=LEASE_S)

    registry.life.before = take_over
    with pytest.raises(Conflict, match="taken over"):
        registry.collect()
    assert registry.trashed() == set()
    with pytest.raises(Conflict, match="another/1"):
        registry.collect()


def test_a_server_that_stops_ends_its_run(registry: SmallRegistry) -> None:
    registry.garbage.close()
    with pytest.raises(Unavailable, match="stopping"):
        registry.collect()


def test_of_a_model_whose_manifest_is_lost_no_chunk_is_taken(registry: SmallRegistry) -> None:
    registry.save("one", "a")
    registry.save("two", "b")
    registry.models.delete(registry.key("two"))
    registry.store.delete(manifest(registry, "one"))
    registry.clock.advance(DAY_S)
    report = registry.collect()
    assert {chunk("a"), chunk("b")} <= registry.stored()
    assert ("kept", "chunks", 2, "a manifest cannot be read") in lines(report)
    (note,) = report.notes
    assert "of model 'f/s/one' cannot be read" in note
    registry.save("one", "a")
    report = registry.collect()
    assert report.notes == []
    assert registry.trashed() >= {chunk("b")}
    assert registry.is_whole("one", "a")


def test_what_was_set_aside_is_kept_until_it_is_healed(registry: SmallRegistry) -> None:
    registry.save("one", "a")
    registry.store.put(chunk("a"), b"altered")
    with pytest.raises(Exception, match="corrupt"):
        registry.is_whole("one", "a")
    aside = f"corrupt/{chunk('a')}"
    registry.clock.advance(DAY_S)
    assert ("kept", "corrupt", 1, "in use") in lines(registry.collect())
    assert aside in registry.stored()
    registry.save("one", "a")
    assert ("moved", "corrupt", 1, "set aside as corrupt") in lines(registry.collect())
    assert registry.trashed() == {aside}
    assert registry.is_whole("one", "a")
    registry.clock.advance(DAY_S)
    registry.collect()
    assert registry.trashed() == set()


def test_objects_of_others_are_never_touched(registry: SmallRegistry) -> None:
    names = sha256(b"x")
    others = {
        "storage-id",
        "notes.txt",
        f"chunks/{names}",
        f"chunks/zz/{names}",
        f"chunks/{names[:2]}/{names}.bak",
        f"chunks/{names[:2]}/{names.upper()}",
        f"manifests/{names}",
        f"manifests/deep/{names}.json",
        f"bundles/{names}.zip.part",
        f"backup/bundles/{names}.zip",
        f"runtime/{names[:63]}.zip",
        f"corrupt/{names}",
        f"trash/{names}",
        f"trash/trash/bundles/{names}.zip",
        f"trash/notes/bundles/{names}.zip",
    }
    for path in others:
        registry.store.put(path, b"theirs")
    registry.clock.advance(365 * DAY_S)
    report = registry.collect(grace_s=0)
    assert report.lines == []
    assert set(registry.store.list()) == others


def test_runtimes_are_kept_longer(registry: SmallRegistry) -> None:
    path = f"runtime/{sha256(b'x')}.zip"
    registry.store.put(path, b"zip")
    registry.clock.advance(7 * DAY_S - 1)
    registry.collect(grace_s=0)
    assert registry.stored() == {path}
    registry.clock.advance(1)
    registry.collect(grace_s=0)
    assert registry.stored() == set()


def test_records_that_were_put_back_count_the_trash_as_new(registry: SmallRegistry) -> None:
    registry.upload("a")
    registry.store.move(chunk("a"), f"trash/{chunk('a')}")
    registry.clock.advance(DAY_S)
    assert registry.collect().total("freed") == (0, 0)
    registry.clock.advance(DAY_S)
    assert registry.collect().total("freed")[0] == 2
    assert registry.stored() == registry.trashed() == set()
    with pytest.raises(ArtifactNotFound):
        registry.artifacts.get("chunks", chunk("a")[-64:])
