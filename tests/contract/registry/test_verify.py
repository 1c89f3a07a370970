"""Verifying stored models, on every pair of storage and database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.errors import ModelNotFound
from roost.storage.artifacts import artifact_path

if TYPE_CHECKING:
    from tests.contract.registry.conftest import Registry

Servable = Callable[..., type]


@pytest.mark.parametrize("hidden", [False, True], ids=["direct", "through the server"])
def test_every_part_is_checked_and_saving_again_heals(
    registry: Registry, servable: Servable, weights: Path, hidden: bool
) -> None:
    saved = roost.save_model(weights, servable(), "f", "s")
    key = saved.key
    if hidden:
        registry.hide_storage()
    whole = roost.verify_model(key.family, key.suffix, key.run_name)
    assert (whole.model, whole.digest, whole.problems) == (str(key), saved.digest, [])
    paths = [path for path in registry.objects.list() if path != "storage-id"]
    assert whole.checked_bytes == sum(len(registry.objects.get(path)) for path in paths)

    (chunk,) = [path for path in paths if path.startswith("chunks/")]
    bundle = artifact_path("bundles", saved.bundle_fingerprint)
    flipped = bytearray(registry.objects.get(bundle))
    flipped[len(flipped) // 2] ^= 1
    registry.objects.put(bundle, bytes(flipped))
    registry.objects.delete(chunk)
    found = roost.verify_model(key.family, key.suffix, key.run_name).problems
    assert [(problem.file, problem.chunk) for problem in found] == [
        ("model.bin", chunk.rsplit("/", 1)[1]),
        ("", ""),
    ]
    assert f"bundle '{saved.bundle_fingerprint}' is corrupt" in found[1].what

    assert roost.save_model(weights, servable(), "f", "s").digest == saved.digest
    assert roost.verify_model(key.family, key.suffix, key.run_name).problems == []


def test_a_model_without_weights(registry: Registry, servable: Servable) -> None:
    saved = roost.register_model(servable(), "f", "s")
    assert roost.verify_model("f", "s", "imported").problems == []
    registry.objects.delete(artifact_path("bundles", saved.bundle_fingerprint))
    (problem,) = roost.verify_model("f", "s", "imported").problems
    assert "is not in storage" in problem.what


def test_an_unknown_model_is_named(registry: Registry) -> None:
    with pytest.raises(ModelNotFound, match="'f/s/none'"):
        roost.verify_model("f", "s", "none")
