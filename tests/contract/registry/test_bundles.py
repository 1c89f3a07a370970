"""What a model's code is, from a save to a look at it, on every backing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.contracts.bundle import BundleFile
from roost.errors import ModelNotFound

if TYPE_CHECKING:
    from tests.contract.registry.conftest import Registry

Servable = Callable[..., type]


def test_a_saved_bundle_is_shown_with_its_reasons(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    saved = roost.save_model(weights, servable(), "f", "s")
    info = roost.model_bundle("f", "s", saved.run_name)
    assert (info.fingerprint, info.class_path, info.pins, info.notes) == (
        saved.bundle_fingerprint,
        "own_model:Model",
        [],
        [],
    )
    (file,) = info.files
    assert file == BundleFile(path="own_model.py", size=file.size, reason="holds the class 'Model'")
    assert file.size == len((weights.parent / "own" / "own_model.py").read_bytes())


def test_a_refreshed_import_shows_the_new_code(registry: Registry, servable: Servable, weights: Path) -> None:
    first = roost.import_model(weights, servable(1), "f", "s")
    second = roost.import_model(weights, servable(2), "f", "s")
    assert second.bundle_fingerprint != first.bundle_fingerprint
    assert roost.model_bundle("f", "s", "imported").fingerprint == second.bundle_fingerprint


def test_an_unknown_model_is_named(registry: Registry) -> None:
    with pytest.raises(ModelNotFound, match="'f/s/none'"):
        roost.model_bundle("f", "s", "none")
