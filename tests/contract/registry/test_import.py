"""What an import finds: one that failed, one under way, one whose writer died, one that is ready."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.contracts.model import ClaimRequest
from roost.errors import ModelBusy
from roost.keys import ModelKey

if TYPE_CHECKING:
    from tests.contract.registry.conftest import Registry

KEY = ModelKey("f", "s", "imported")
GPU = roost.ModelRequirements(num_gpus=1)
Servable = Callable[..., type]


def test_a_failed_import_says_why_and_is_replaced(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    def source() -> Path:
        raise OSError("the mirror is away")

    with pytest.raises(OSError, match="the mirror is away"):
        roost.import_model(source, servable(), "f", "s")
    entry = registry.server.models.get(KEY)
    assert (entry.phase, entry.message) == ("upload_failed", "OSError: the mirror is away")
    assert roost.import_model(weights, servable(), "f", "s").message == ""


def test_a_live_writer_is_named_and_a_dead_one_replaced(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    registry.server.models.claim(KEY, ClaimRequest(mode="import", writer="eve@far (pid 9)"))
    with pytest.raises(ModelBusy, match=r"'f/s/imported' is being imported by 'eve@far \(pid 9\)'"):
        roost.import_model(weights, servable(), "f", "s")
    registry.server.clock.advance(31)
    assert registry.server.models.get(KEY).phase == "broken"
    assert roost.import_model(weights, servable(), "f", "s").phase == "ready"


def test_changed_code_and_first_settings_are_taken_without_the_weights(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    first = roost.import_model(weights, servable(), "f", "s")
    second = roost.import_model("/no/such", servable(2), "f", "s", GPU, {"a": "b"})
    assert (second.digest, second.requirements, second.config) == (first.digest, GPU, {"a": "b"})
    assert second.bundle_fingerprint != first.bundle_fingerprint
    with pytest.warns(UserWarning, match="keeps the requirements and config it has"):
        third = roost.import_model(
            weights, servable(2), "f", "s", roost.ModelRequirements(ram_gb=1), {"a": "c"}
        )
    assert third == second
