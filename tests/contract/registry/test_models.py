"""Saving, importing, registering, listing and loading, on every backing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.contracts.model import ClaimRequest
from roost.errors import CorruptArtifact, InvalidWeights, ModelBusy, RoostError
from roost.keys import ModelKey
from roost.storage.artifacts import artifact_path
from roost.storage.manifest import Manifest

if TYPE_CHECKING:
    from tests.contract.registry.conftest import Registry

Servable = Callable[..., type]


def test_what_was_saved_is_loaded(registry: Registry, servable: Servable, weights: Path) -> None:
    saved = roost.save_model(weights, servable(), "f", "s", config={"a": "b"})
    assert (saved.phase, saved.size_bytes, saved.config) == ("ready", 5, {"a": "b"})
    assert registry.objects.exists(saved.data_blob_path)
    loaded = roost.load_model("f", "s", saved.run_name)
    assert (loaded / "model.bin").read_bytes() == b"12345"
    assert (loaded / "deep" / "empty").read_bytes() == b""


def test_saving_again_replaces_it_and_sends_only_what_is_new(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    (weights / "large.bin").write_bytes(bytes(2_000_000))
    first = roost.save_model(weights, servable(), "f", "s")
    before = set(registry.objects.list("chunks"))
    (weights / "model.bin").write_bytes(b"54321")
    second = roost.save_model(weights, servable(), "f", "s")
    assert second.digest != first.digest
    assert len(set(registry.objects.list("chunks")) - before) == 1
    assert (roost.load_model("f", "s", second.run_name) / "model.bin").read_bytes() == b"54321"


def test_an_import_runs_its_source_once(registry: Registry, servable: Servable, weights: Path) -> None:
    calls: list[int] = []

    def source() -> Path:
        calls.append(1)
        return weights

    first = roost.import_model(source, servable(), "f", "s")
    assert roost.import_model(source, servable(), "f", "s") == first
    assert calls == [1]
    assert (roost.load_model("f", "s", "imported") / "model.bin").read_bytes() == b"12345"


def test_a_model_without_weights(registry: Registry, servable: Servable) -> None:
    saved = roost.register_model(servable(), "f", "none")
    assert (saved.has_weights, saved.size_bytes) == (False, 0)
    with pytest.raises(InvalidWeights, match="without weights"):
        roost.load_model("f", "none", "imported")


def test_entries_are_listed_in_order_and_by_filter(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    for suffix in ("b", "a", "c"):
        roost.import_model(weights, servable(), "f", suffix)
    roost.register_model(servable(), "g", "a")
    assert [(m.family, m.suffix) for m in roost.list_models()] == [
        ("f", "a"),
        ("f", "b"),
        ("f", "c"),
        ("g", "a"),
    ]
    assert [m.suffix for m in roost.list_models(family="f", limit=2)] == ["a", "b"]
    assert roost.model_registry_status("f", "z", "imported") is None


def test_of_two_writers_one_is_told_who_the_other_is(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    claim = ClaimRequest(mode="import", writer="eve@far (pid 9)")
    registry.server.models.claim(ModelKey("f", "s", "imported"), claim)
    with pytest.raises(ModelBusy, match="eve@far"):
        roost.import_model(weights, servable(), "f", "s")


def test_writers_at_once_end_with_one_whole_model(
    registry: Registry, servable: Servable, tmp_path: Path
) -> None:
    made = servable()

    def write(n: int) -> str:
        folder = tmp_path / f"w{n}"
        folder.mkdir()
        for name in ("one.bin", "two.bin"):
            (folder / name).write_text(f"{n}")
        try:
            return roost.import_model(folder, made, "f", "race").digest
        except ModelBusy:
            return ""

    with ThreadPoolExecutor(4) as pool:
        digests = set(pool.map(write, range(4))) - {""}
    assert len(digests) == 1
    loaded = roost.load_model("f", "race", "imported")
    assert (loaded / "one.bin").read_text() == (loaded / "two.bin").read_text()


@pytest.mark.parametrize("damage", ["altered", "cut", "gone"])
def test_a_damaged_chunk_is_named_and_saving_again_heals(
    registry: Registry, servable: Servable, weights: Path, damage: str
) -> None:
    saved = roost.save_model(weights, servable(), "f", "s")
    manifest = Manifest.decode(registry.objects.get(saved.data_blob_path))
    (name,) = manifest.chunk_names()
    path = artifact_path("chunks", name)
    if damage == "gone":
        registry.objects.delete(path)
    else:
        registry.objects.put(path, b"12x45" if damage == "altered" else b"12")
    with pytest.raises(RoostError, match=f"{name}.*model.bin") as caught:
        roost.load_model("f", "s", saved.run_name)
    assert damage == "gone" or isinstance(caught.value, CorruptArtifact)
    assert roost.save_model(weights, servable(), "f", "s").digest == saved.digest
    assert (roost.load_model("f", "s", saved.run_name) / "model.bin").read_bytes() == b"12345"
