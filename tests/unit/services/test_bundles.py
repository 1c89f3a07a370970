from __future__ import annotations

from pathlib import Path

import pytest

from roost.bundle import Bundle, Traced, pack
from roost.contracts.bundle import BundleFile, BundlePin
from roost.contracts.model import ClaimRequest, CommitRequest
from roost.contracts.servable import ServableRef
from roost.errors import ArtifactNotFound, CorruptArtifact, ModelNotFound, ModelNotReady
from roost.keys import ModelKey
from roost.records.database import Database
from roost.services.bundles import Bundles
from roost.services.models import Models
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

KEY = ModelKey("yolo", "coco", "imported")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def models(database: Database, store: MemoryStore) -> Models:
    return Models(database, store, FakeClock())


@pytest.fixture
def bundles(models: Models, store: MemoryStore) -> Bundles:
    return Bundles(models, store)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    (tmp_path / "app.py").write_text("class App: ...\n")
    return pack(
        Traced(
            files={"app.py": tmp_path / "app.py"},
            class_path="app:App",
            pins=["lib==1"],
            notes=["A note."],
            reasons={"app.py": "holds the class 'App'"},
            pin_reasons={"lib==1": "imported by app.py line 1"},
        )
    )


def test_what_the_model_holds_is_shown(
    bundles: Bundles, bundle: Bundle, store: MemoryStore, database: Database
) -> None:
    store.put("bundles", bundle.fingerprint, bundle.data)
    save_ready_model(database, KEY, bundle=bundle.fingerprint)
    info = bundles.get(KEY)
    assert (info.fingerprint, info.class_path, info.notes) == (bundle.fingerprint, "app:App", ["A note."])
    assert info.files == [BundleFile(path="app.py", size=15, reason="holds the class 'App'")]
    assert info.pins == [BundlePin(requirement="lib==1", reason="imported by app.py line 1")]


def test_it_is_that_of_the_finished_content_while_another_is_uploaded(
    bundles: Bundles, bundle: Bundle, store: MemoryStore, database: Database, models: Models
) -> None:
    store.put("bundles", bundle.fingerprint, bundle.data)
    save_ready_model(database, KEY, bundle=bundle.fingerprint)
    models.claim(KEY, ClaimRequest(mode="save", writer="eve"))
    assert bundles.get(KEY).fingerprint == bundle.fingerprint


def test_no_such_model_and_none_that_is_finished(bundles: Bundles, models: Models) -> None:
    with pytest.raises(ModelNotFound, match="'yolo/coco/imported'"):
        bundles.get(KEY)
    models.claim(KEY, ClaimRequest(mode="save", writer="eve"))
    with pytest.raises(ModelNotReady):
        bundles.get(KEY)


def test_a_bundle_that_is_gone_or_altered_is_named(
    bundles: Bundles, store: MemoryStore, models: Models, bundle: Bundle
) -> None:
    store.put("bundles", bundle.fingerprint, b"not a zip")
    token = models.claim(KEY, ClaimRequest(mode="register", writer="ann")).token
    assert token is not None
    servable = ServableRef(class_path="app:App", kind="serve_app", bundle_fingerprint=bundle.fingerprint)
    models.commit(KEY, token, CommitRequest(servable=servable))
    with pytest.raises(CorruptArtifact, match=f"bundle '{bundle.fingerprint}' is corrupt"):
        bundles.get(KEY)


def test_a_bundle_that_is_not_stored_is_named(bundles: Bundles, database: Database) -> None:
    save_ready_model(database, KEY, bundle="c" * 64)
    with pytest.raises(ArtifactNotFound, match="c" * 64):
        bundles.get(KEY)
