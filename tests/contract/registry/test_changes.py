"""Listing, changing and deleting models, on every pair of storage and database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.registry.conftest import Registry

import roost
from roost.errors import ModelInUse, ModelNotFound
from roost.keys import ModelKey

Servable = Callable[..., type]


def test_deleting_one_leaves_what_it_shared_with_others(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    model = servable()
    gone = roost.import_model(weights, model, "f", "s")
    kept = [roost.import_model(weights, model, *name) for name in (("f", "s1"), ("f", "s_"), ("f1", "s"))]
    assert {each.digest for each in kept} == {gone.digest}
    roost.delete_model(*key(gone))
    with pytest.raises(ModelNotFound):
        roost.load_model(*key(gone))
    assert roost.list_models() == sorted(kept, key=lambda each: each.key)
    for each in kept:
        assert (roost.load_model(*key(each)) / "model.bin").read_bytes() == b"12345"
    assert registry.server.deployments.list().items == []


def test_a_deleted_key_can_be_saved_again_with_other_content(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    first = roost.import_model(weights, servable(), "f", "s", config={"a": "1"})
    roost.delete_model(*key(first))
    with pytest.raises(ModelNotFound):
        roost.delete_model(*key(first))
    (weights / "model.bin").write_bytes(b"other")
    second = roost.import_model(weights, servable(), "f", "s")
    assert (second.config, second.digest != first.digest) == ({}, True)
    assert (roost.load_model(*key(second)) / "model.bin").read_bytes() == b"other"


def test_what_is_deployed_stays(registry: Registry, servable: Servable, weights: Path) -> None:
    saved = roost.import_model(weights, servable(), "f", "s")
    deployment = roost.deploy_model(*key(saved))
    with pytest.raises(ModelInUse, match=r"by the deployment 'f/s/imported'"):
        roost.delete_model(*key(saved))
    assert roost.load_model(*key(saved)).is_dir()
    roost.undeploy_model(deployment.key)
    roost.delete_model(*key(saved))
    assert [event.kind for event in roost.list_events()][-1] == "model_deleted"


def test_settings_are_replaced_whole(registry: Registry, servable: Servable) -> None:
    saved = roost.register_model(servable(), "f", "s", config={"a": "1", "b": "2"})
    roost.set_model_config(*key(saved), {"naïve": "ü"})
    roost.set_model_requirements(*key(saved), roost.ModelRequirements(ram_gb=0.5))
    found = roost.model_registry_status(*key(saved))
    assert found is not None
    assert (found.config, found.requirements) == ({"naïve": "ü"}, roost.ModelRequirements(ram_gb=0.5))


def key(model: roost.SavedModel | ModelKey) -> tuple[str, str, str]:
    return model.family, model.suffix, model.run_name
