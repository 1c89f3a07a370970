from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import event

from roost.contracts.artifact import ArtifactKind
from roost.contracts.model import ClaimMode, ClaimRequest, CommitRequest, SavedModel
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.errors import (
    ArtifactNotFound,
    CorruptArtifact,
    InvalidConfig,
    InvalidName,
    ModelBusy,
    ModelNotFound,
    ModelNotReady,
)
from roost.keys import NO_WEIGHTS, ModelKey
from roost.records.database import Database
from roost.services.model_claims import check_claimable
from roost.services.models import Models
from roost.storage.artifacts import sha256
from roost.storage.manifest import Chunk, FileEntry, Manifest
from roost.testing.fake_clock import EPOCH, FakeClock
from roost.testing.memory_store import MemoryStore

SAVED = ModelKey("yolo", "coco", "run-1")
IMPORT = ModelKey("yolo", "coco", "imported")
BUNDLE = "a" * 64
OTHER_BUNDLE = "b" * 64


class Registry:
    """Models over real tables, a store in memory and a clock that stands still."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.store = MemoryStore()
        self.clock = FakeClock()
        self.models = Models(self.db, self.store, self.clock)
        self.store.put("bundles", BUNDLE, b"zip")
        self.store.put("bundles", OTHER_BUNDLE, b"other zip")

    def upload(self, content: bytes) -> str:
        """Store a tree of one file, `weights.bin`; its digest."""
        chunk = sha256(content)
        self.store.put("chunks", chunk, content)
        file = FileEntry(
            path="weights.bin",
            size=len(content),
            executable=False,
            chunks=[Chunk(sha256=chunk, size=len(content))],
        )
        manifest = Manifest(files=[file], links=[], directories=[])
        self.store.put("manifests", manifest.digest, manifest.encode())
        return manifest.digest

    def claim(self, key: ModelKey, mode: ClaimMode = "save", writer: str = "ann@host (pid 1)") -> str:
        claim = self.models.claim(key, ClaimRequest(mode=mode, writer=writer))
        assert claim.token is not None
        assert claim.lease_s == 30
        return claim.token

    def save(self, key: ModelKey, content: bytes = b"weights", mode: ClaimMode = "save") -> SavedModel:
        return self.models.commit(key, self.claim(key, mode), self.request(content))

    def request(
        self,
        content: bytes | None = b"weights",
        *,
        bundle: str = BUNDLE,
        requirements: ModelRequirements | None = None,
        config: dict[str, str] | None = None,
    ) -> CommitRequest:
        return CommitRequest(
            manifest_digest=self.upload(content) if content is not None else None,
            size_bytes=12345,  # what the client says is not what counts
            servable=servable(bundle),
            requirements=requirements,
            config=config,
        )

    def writes(self, action: Callable[[], object]) -> list[str]:
        """The statements of `action` that change the records."""
        seen: list[str] = []
        event.listen(self.db.engine, "before_cursor_execute", lambda _c, _k, sql, *_: seen.append(sql))
        action()
        return [sql for sql in seen if sql.startswith(("INSERT", "UPDATE", "DELETE"))]


def servable(bundle: str = BUNDLE) -> ServableRef:
    return ServableRef(
        class_path="pkg.mod:Model",
        kind="inference_model",
        capability="detection",
        bundle_fingerprint=bundle,
        pins=["left-pad==1.0"],
    )


@pytest.fixture
def registry(database: Database) -> Registry:
    return Registry(database)


# --- from claim to entry


def test_a_first_upload_is_listed_from_the_claim_on(registry: Registry) -> None:
    assert registry.models.find(SAVED) is None
    token = registry.claim(SAVED)
    entry = registry.models.get(SAVED)
    assert (entry.phase, entry.data_blob_path, entry.size_bytes, entry.message) == ("uploading", "", 0, "")
    registry.clock.advance(5)
    saved = registry.models.commit(
        SAVED, token, registry.request(requirements=ModelRequirements(num_gpus=1), config={"a": "b"})
    )
    assert saved == registry.models.get(SAVED)
    digest = registry.upload(b"weights")
    assert saved == SavedModel(
        family="yolo",
        suffix="coco",
        run_name="run-1",
        created_at=registry.clock.now(),
        data_blob_path=f"manifests/{digest}.json",
        size_bytes=7,
        phase="ready",
        requirements=ModelRequirements(num_gpus=1),
        config={"a": "b"},
        bundle_fingerprint=BUNDLE,
        digest=digest,
        has_weights=True,
        class_path="pkg.mod:Model",
        capability="detection",
        message="",
    )
    assert registry.models.get_ready(SAVED).servable == servable()


def test_a_model_without_weights(registry: Registry) -> None:
    token = registry.claim(IMPORT, "register")
    assert registry.models.get(IMPORT).data_blob_path == NO_WEIGHTS
    saved = registry.models.commit(IMPORT, token, registry.request(None))
    assert (saved.phase, saved.data_blob_path, saved.size_bytes, saved.has_weights, saved.digest) == (
        "ready",
        NO_WEIGHTS,
        0,
        False,
        "",
    )


def test_a_live_claim_refuses_everybody_else(registry: Registry) -> None:
    registry.claim(IMPORT, "import")
    registry.clock.advance(10)
    for mode in ("import", "register"):
        with pytest.raises(ModelBusy) as caught:
            registry.claim(IMPORT, mode, "bob")
        assert caught.value.message == "'yolo/coco/imported' is being imported by 'ann@host (pid 1)'."
        assert (
            caught.value.hint == "Try again when it has finished. If it has died, its claim lapses in 20 s."
        )
        assert caught.value.retry_after_s == 20


def test_other_keys_are_not_held_up(registry: Registry) -> None:
    registry.claim(ModelKey("yolo", "coco", "run-1"))
    registry.claim(ModelKey("yolo", "coco", "run-10"))
    registry.claim(ModelKey("yolo", "coco2", "run-1"))


def test_renewing_keeps_a_claim_alive(registry: Registry) -> None:
    token = registry.claim(SAVED)
    for _ in range(5):
        registry.clock.advance(29)
        assert registry.models.renew(SAVED, token).lease_s == 30
    assert registry.models.get(SAVED).phase == "uploading"
    with pytest.raises(ModelBusy):
        registry.claim(SAVED)


def test_a_writer_that_died_is_broken_and_can_be_followed(registry: Registry) -> None:
    dead = registry.claim(SAVED)
    registry.clock.advance(30)
    entry = registry.models.get(SAVED)
    assert entry.phase == "broken"
    assert entry.message == "'ann@host (pid 1)' stopped at 2026-01-01 00:00:30 UTC, before it had finished."
    alive = registry.claim(SAVED, writer="bob")
    assert registry.models.get(SAVED).phase == "uploading"
    for stale in (
        lambda: registry.models.renew(SAVED, dead),
        lambda: registry.models.commit(SAVED, dead, registry.request(b"stale")),
    ):
        with pytest.raises(ModelBusy, match=r"^The claim on 'yolo/coco/run-1' was taken over by 'bob'\."):
            stale()
    registry.models.abandon(SAVED, dead, "too late")
    assert registry.models.get(SAVED).phase == "uploading"
    saved = registry.models.commit(SAVED, alive, registry.request(b"fresh!"))
    assert saved.size_bytes == 6
    with pytest.raises(ModelBusy, match="has ended"):
        registry.models.commit(SAVED, dead, registry.request(b"stale"))
    assert registry.models.get(SAVED) == saved


def test_a_lapsed_claim_that_nobody_wanted_is_still_its_writers(registry: Registry) -> None:
    token = registry.claim(SAVED)
    registry.clock.advance(3600)
    assert registry.models.get(SAVED).phase == "broken"
    registry.models.renew(SAVED, token)
    assert registry.models.get(SAVED).phase == "uploading"
    registry.clock.advance(3600)
    assert registry.models.commit(SAVED, token, registry.request()).phase == "ready"


def test_a_takeover_while_the_parts_are_checked_wins(registry: Registry) -> None:
    slow = registry.claim(SAVED)
    request = registry.request(b"slow")
    missing = registry.store.missing

    def take_over(kind: ArtifactKind, names: object) -> set[str]:
        registry.store.missing = missing  # type: ignore[method-assign]  # once
        registry.clock.advance(31)
        registry.claim(SAVED, writer="bob")
        return set()

    registry.store.missing = take_over  # type: ignore[method-assign]  # in the middle of the commit
    with pytest.raises(ModelBusy, match="taken over by 'bob'"):
        registry.models.commit(SAVED, slow, request)
    assert registry.models.get(SAVED).phase == "uploading"


def test_a_commit_that_is_repeated_changes_nothing(registry: Registry) -> None:
    token = registry.claim(SAVED)
    saved = registry.models.commit(SAVED, token, registry.request(b"one"))
    registry.clock.advance(60)
    assert registry.models.commit(SAVED, token, registry.request(b"two")) == saved
    with pytest.raises(ModelBusy, match="has ended"):
        registry.models.renew(SAVED, token)


@pytest.mark.parametrize("token", ["", "x", "0" * 32, "'; --"])
def test_a_made_up_token_is_worth_nothing(registry: Registry, token: str) -> None:
    for key in (SAVED, IMPORT):
        with pytest.raises(ModelBusy):
            registry.models.renew(key, token)
        with pytest.raises(ModelBusy):
            registry.models.commit(key, token, registry.request())
        assert registry.models.abandon(key, token, "why") is None
    registry.claim(SAVED)
    with pytest.raises(ModelBusy):
        registry.models.commit(SAVED, token, registry.request())
    found = registry.models.abandon(SAVED, token, "why")
    assert found is not None
    assert found.phase == "uploading"


# --- giving up


def test_a_failed_first_upload_says_why_and_can_be_retried_at_once(registry: Registry) -> None:
    token = registry.claim(SAVED)
    failed = registry.models.abandon(SAVED, token, "disk full\x00\ud800")
    assert failed is not None
    assert (failed.phase, failed.message) == ("upload_failed", "disk full")
    assert registry.models.get(SAVED) == failed
    assert registry.models.abandon(SAVED, token, "again") == failed
    again = registry.claim(SAVED)
    assert registry.models.get(SAVED).message == ""
    assert registry.models.commit(SAVED, again, registry.request()).message == ""


def test_an_empty_reason_is_still_a_reason(registry: Registry) -> None:
    failed = registry.models.abandon(SAVED, registry.claim(SAVED), " ")
    assert failed is not None
    assert failed.message == "No reason was given."


# --- saving again


def test_while_a_model_is_saved_again_the_old_one_is_whole(registry: Registry) -> None:
    old = registry.save(SAVED, b"old")
    registry.clock.advance(60)
    token = registry.claim(SAVED)
    assert registry.models.get(SAVED) == old
    assert registry.models.get_ready(SAVED).saved == old
    new = registry.models.commit(SAVED, token, registry.request(b"newer", bundle=OTHER_BUNDLE))
    assert (new.size_bytes, new.bundle_fingerprint) == (5, OTHER_BUNDLE)
    assert new.created_at == old.created_at.replace(minute=1)
    assert registry.models.get(SAVED) == new


@pytest.mark.parametrize("end", ["abandon", "lapse"])
def test_a_failed_save_leaves_the_old_one_deployable(registry: Registry, end: str) -> None:
    old = registry.save(SAVED, b"old")
    token = registry.claim(SAVED)
    if end == "abandon":
        assert registry.models.abandon(SAVED, token, "no") == old
    else:
        registry.clock.advance(31)
    assert registry.models.get_ready(SAVED).saved == old
    registry.claim(SAVED)


def test_a_save_replaces_settings_only_when_it_brings_some(registry: Registry) -> None:
    gpu = ModelRequirements(num_gpus=1)
    first = registry.request(requirements=gpu, config={"a": "1"})
    registry.models.commit(SAVED, registry.claim(SAVED), first)
    kept = registry.models.commit(SAVED, registry.claim(SAVED), registry.request())
    assert (kept.requirements, kept.config) == (gpu, {"a": "1"})
    cleared = registry.request(requirements=ModelRequirements(), config={})
    replaced = registry.models.commit(SAVED, registry.claim(SAVED), cleared)
    assert (replaced.requirements, replaced.config) == (ModelRequirements(), {})


@pytest.mark.parametrize("run_name", ["imported", "declared"])
def test_saving_under_a_reserved_run_name_is_refused(registry: Registry, run_name: str) -> None:
    key = ModelKey("yolo", "coco", run_name)
    with pytest.raises(InvalidName, match=f"run name '{run_name}' is reserved"):
        check_claimable(key, ClaimRequest(mode="save", writer="ann"))
    check_claimable(key, ClaimRequest(mode="import", writer="ann"))
    check_claimable(SAVED, ClaimRequest(mode="save", writer="ann"))
    assert registry.save(key).phase == "ready"  # the server itself saves what was declared


# --- importing once


@pytest.mark.parametrize("mode", ["import", "register"])
def test_a_ready_import_is_given_back_without_a_claim(registry: Registry, mode: ClaimMode) -> None:
    saved = registry.save(IMPORT, mode="import")
    answers: list[object] = []
    request = ClaimRequest(mode=mode, writer="bob")
    assert registry.writes(lambda: answers.append(registry.models.claim(IMPORT, request).ready)) == []
    assert answers == [saved]


def test_an_import_over_a_registration_is_an_upload(registry: Registry) -> None:
    registered = registry.models.commit(IMPORT, registry.claim(IMPORT, "register"), registry.request(None))
    token = registry.claim(IMPORT, "import")
    assert registry.models.get(IMPORT) == registered
    assert registry.models.commit(IMPORT, token, registry.request()).has_weights


def test_an_import_brings_settings_only_where_there_are_none(registry: Registry) -> None:
    token = registry.claim(IMPORT, "import")
    registry.models.set_config(IMPORT, {})
    request = registry.request(requirements=ModelRequirements(ram_gb=2), config={"theirs": "x"})
    saved = registry.models.commit(IMPORT, token, request)
    assert saved.config == {}  # an empty config was chosen
    assert saved.requirements == ModelRequirements(ram_gb=2)


# --- what must be stored


def test_a_commit_needs_every_part(registry: Registry) -> None:
    token = registry.claim(SAVED)
    request = registry.request(b"weights")
    parts: list[tuple[ArtifactKind, str]] = [
        ("chunks", sha256(b"weights")),
        ("manifests", request.manifest_digest or ""),
        ("bundles", BUNDLE),
    ]
    for part in parts:
        data = registry.store.objects.pop(part)
        with pytest.raises(ArtifactNotFound, match=part[1]):
            registry.models.commit(SAVED, token, request)
        assert registry.models.get(SAVED).phase == "uploading"
        registry.store.objects[part] = data
    assert registry.models.commit(SAVED, token, request).phase == "ready"


def test_an_altered_manifest_is_named(registry: Registry) -> None:
    request = registry.request()
    registry.store.objects["manifests", request.manifest_digest or ""] = b"{}"
    with pytest.raises(CorruptArtifact, match=request.manifest_digest):
        registry.models.commit(SAVED, registry.claim(SAVED), request)


@pytest.mark.parametrize("digest", ["../../etc/passwd", "A" * 64, "a" * 63, "x"])
def test_a_hostile_digest_is_refused(registry: Registry, digest: str) -> None:
    request = registry.request().model_copy(update={"manifest_digest": digest})
    with pytest.raises(InvalidName):
        registry.models.commit(SAVED, registry.claim(SAVED), request)


def test_a_config_with_a_blank_key_is_refused_and_nothing_is_written(registry: Registry) -> None:
    token = registry.claim(SAVED)
    with pytest.raises(InvalidConfig):
        registry.models.commit(SAVED, token, registry.request(config={" ": "x"}))
    assert registry.models.get(SAVED).phase == "uploading"


# --- changing a finished entry


def test_refreshing_the_bundle(registry: Registry) -> None:
    saved = registry.save(SAVED)
    assert registry.writes(lambda: registry.models.refresh_bundle(SAVED, servable())) == []
    fresh = registry.models.refresh_bundle(SAVED, servable(OTHER_BUNDLE))
    assert fresh == saved.model_copy(update={"bundle_fingerprint": OTHER_BUNDLE})
    assert registry.models.get_ready(SAVED).servable == servable(OTHER_BUNDLE)
    with pytest.raises(ArtifactNotFound, match="c" * 64):
        registry.models.refresh_bundle(SAVED, servable("c" * 64))
    assert registry.models.get(SAVED) == fresh


def test_settings_can_be_replaced(registry: Registry) -> None:
    registry.save(SAVED)
    assert registry.models.set_config(SAVED, {"a": "1", "b": "2"}).config == {"a": "1", "b": "2"}
    assert registry.models.set_config(SAVED, {"c": "3"}).config == {"c": "3"}
    gpu = ModelRequirements(num_gpus=0.5, vram_gb=4)
    assert registry.models.set_requirements(SAVED, gpu).requirements == gpu
    assert registry.models.get(SAVED).requirements == gpu
    assert registry.writes(lambda: registry.models.set_config(SAVED, {"c": "3"})) == []
    with pytest.raises(InvalidConfig, match="blank"):
        registry.models.set_config(SAVED, {"": "x"})


def test_an_unknown_model_is_named(registry: Registry) -> None:
    models = registry.models
    for action in (
        lambda: models.get(SAVED),
        lambda: models.get_ready(SAVED),
        lambda: models.set_config(SAVED, {}),
        lambda: models.set_requirements(SAVED, ModelRequirements()),
        lambda: models.refresh_bundle(SAVED, servable()),
    ):
        with pytest.raises(ModelNotFound, match=r"^There is no model 'yolo/coco/run-1'\."):
            action()
    assert models.list().items == []


def test_an_unfinished_model_says_how_it_stands(registry: Registry) -> None:
    def refusal() -> str:
        with pytest.raises(ModelNotReady) as caught:
            registry.models.get_ready(SAVED)
        with pytest.raises(ModelNotReady):
            registry.models.refresh_bundle(SAVED, servable())
        return caught.value.message

    token = registry.claim(SAVED)
    assert refusal() == "'yolo/coco/run-1' is still being saved by 'ann@host (pid 1)'."
    registry.clock.advance(30)
    assert refusal().startswith("'yolo/coco/run-1' is broken: 'ann@host (pid 1)' stopped at 2026-01-01")
    registry.models.abandon(SAVED, token, "The disk is full.")
    assert refusal() == "'yolo/coco/run-1' is upload_failed: The disk is full."


# --- listing


def test_listing_filters_pages_and_counts(registry: Registry) -> None:
    registry.save(ModelKey("b", "x", "r1"))
    registry.save(ModelKey("a", "y", "r1"))
    registry.claim(ModelKey("a", "x", "r2"))
    page = registry.models.list(limit=2)
    assert ([str(item.key) for item in page.items], page.total) == (["a/x/r2", "a/y/r1"], 3)
    page = registry.models.list(limit=2, offset=2)
    assert ([str(item.key) for item in page.items], page.total) == (["b/x/r1"], 3)
    page = registry.models.list(phase="uploading")
    assert ([str(item.key) for item in page.items], page.total) == (["a/x/r2"], 1)
    registry.clock.advance(30)
    assert registry.models.list(phase="uploading").total == 0
    assert registry.models.list(phase="broken").total == 1
    assert registry.models.list(run_name="r1", phase="ready").total == 2
    assert registry.models.count() == 3
    with pytest.raises(InvalidName, match="suffix 'a/b'"):
        registry.models.list(suffix="a/b")


def test_pages_behind_a_key_stay_true_while_others_write(registry: Registry) -> None:
    keys = [ModelKey.parse(key) for key in ("a/x/r1", "a/x/r2", "a/y/r1", "b/a/r1", "b/a/r1.1", "b/a/r2")]
    for key in keys:
        registry.save(key)
    first = registry.models.list(limit=3)
    assert ([item.key for item in first.items], first.total) == (keys[:3], 6)
    registry.models.delete(keys[0])
    registry.save(ModelKey("a", "a", "new"))
    second = registry.models.list(limit=3, after=keys[2])
    assert ([item.key for item in second.items], second.total) == (keys[3:], 6)
    assert registry.models.list(after=ModelKey("a", "x", "r10")).items[0].key == keys[1]
    assert [item.key for item in registry.models.list(run_name="r1", after=keys[1]).items] == [
        ModelKey("a", "y", "r1"),
        ModelKey("b", "a", "r1"),
    ]
    assert registry.models.list(after=keys[5]).items == []


def test_long_texts_of_a_caller_are_cut(registry: Registry) -> None:
    token = registry.claim(SAVED, writer="w" * 10_000)
    with pytest.raises(ModelBusy) as caught:
        registry.claim(SAVED)
    assert len(caught.value.message) < 300
    failed = registry.models.abandon(SAVED, token, "r" * 100_000)
    assert failed is not None
    assert len(failed.message) == 4000


def test_reading_writes_nothing(registry: Registry) -> None:
    registry.save(SAVED)

    def read() -> None:
        registry.models.get(SAVED)
        registry.models.find(IMPORT)
        registry.models.get_ready(SAVED)
        registry.models.list(phase="broken")
        registry.models.count()

    assert registry.writes(read) == []


def test_the_clock_starts_where_the_tests_think() -> None:
    assert FakeClock().now() == EPOCH
    assert FakeClock().advance(1.5) == EPOCH.replace(second=1, microsecond=500_000)


def test_an_unknown_model_is_answered_with_close_ones(registry: Registry) -> None:
    for key in ("yolo/coco/run-1", "yolo/coco/run-2", "sam/large/other"):
        registry.models.claim(ModelKey.parse(key), ClaimRequest(mode="save", writer="ann"))
    with pytest.raises(ModelNotFound) as caught:
        registry.models.get(ModelKey("yolo", "coco", "run-3"))
    assert caught.value.hint == (
        "Did you mean 'yolo/coco/run-2' or 'yolo/coco/run-1'? `roost models list` shows the models there are."
    )
