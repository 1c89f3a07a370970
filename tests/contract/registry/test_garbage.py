"""Collecting garbage through the server, on every pair of storage and database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.orm import Session

import roost
from roost.contracts.artifact import ArtifactKind
from roost.contracts.deployment import DeployRequest
from roost.contracts.model import ClaimRequest
from roost.errors import Conflict, ValidationFailed
from roost.keys import ModelKey
from roost.records.leases import take_lease
from roost.services.garbage_turn import LEASE
from roost.storage.artifacts import StoredArtifacts, artifact_path
from roost.storage.upload import upload_tree

if TYPE_CHECKING:
    from tests.contract.registry.conftest import Registry

Servable = Callable[..., type]
DAY = timedelta(days=1)
NO_GRACE = timedelta(0)


@pytest.fixture(autouse=True)
def in_step(registry: Registry) -> None:
    """The server's clock tells the storage's time, to the second after."""
    registry.server.clock.advance((datetime.now(UTC) - registry.server.clock.now()).total_seconds() + 5)


def stored(registry: Registry) -> set[str]:
    return {path for path in registry.objects.list() if path != "storage-id"}


def pass_time(registry: Registry, by: timedelta) -> None:
    registry.server.clock.advance(by.total_seconds())


def artifact(kind: ArtifactKind, name: str) -> str:
    return artifact_path(kind, name)


def test_a_deleted_model_is_freed_and_its_likes_stay_whole(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    (weights / "shared.bin").write_bytes(b"s" * 2_000_000)
    roost.import_model(weights, servable(), "f", "s")
    before = stored(registry)
    (weights / "own.bin").write_bytes(b"o" * 2_000_000)
    roost.import_model(weights, servable(), "f", "s-2")
    both = stored(registry)
    roost.delete_model("f", "s-2", "imported")

    assert roost.collect_garbage().total("moved") == (0, 0)
    pass_time(registry, 2 * DAY)
    dry = roost.collect_garbage(dry_run=True)
    assert stored(registry) == both
    report = roost.collect_garbage()
    assert dry.lines == report.lines
    assert report.total("moved")[0] == len(both - before) >= 2
    assert stored(registry) == before | {f"trash/{path}" for path in both - before}

    pass_time(registry, DAY)
    assert roost.collect_garbage().total("freed") == report.total("moved")
    assert stored(registry) == before
    loaded = roost.load_model("f", "s", "imported")
    assert (loaded / "shared.bin").read_bytes() == b"s" * 2_000_000


def test_what_is_in_the_trash_is_loaded_and_not_sent_again(
    registry: Registry, servable: Servable, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roost.import_model(weights, servable(), "f", "s")
    before = stored(registry)
    for path in before:
        registry.objects.move(path, f"trash/{path}")
    loaded = roost.load_model("f", "s", "imported")
    assert (loaded / "model.bin").read_bytes() == b"12345"
    roost.delete_model("f", "s", "imported")
    pass_time(registry, 2 * DAY)
    roost.collect_garbage()
    assert not before & stored(registry)
    registry.hide_storage()
    monkeypatch.setattr(registry.server.artifacts, "put", lambda *_: pytest.fail("it is sent again"))
    roost.import_model(weights, servable(), "f", "s")
    assert before <= stored(registry)
    assert roost.verify_model("f", "s", "imported").problems == []


def test_without_a_grace_nothing_is_left_behind_but_what_an_upload_needs(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    roost.import_model(weights, servable(), "f", "s")
    before = stored(registry)
    artifacts = StoredArtifacts(registry.objects)
    (weights / "killed.bin").write_bytes(b"k" * 2_000_000)
    upload_tree(weights, artifacts)
    assert registry.server.models.claim(
        ModelKey("f", "t", "r"), ClaimRequest(mode="save", writer="ann")
    ).token
    (weights / "under-way.bin").write_bytes(b"u" * 2_000_000)
    under_way = upload_tree(weights, artifacts).digest
    roost.collect_garbage(grace=NO_GRACE)
    assert artifacts.missing("manifests", [under_way]) == set()
    pass_time(registry, timedelta(seconds=31))
    roost.collect_garbage(grace=NO_GRACE)
    assert stored(registry) == before


def test_what_a_deployment_runs_is_kept(registry: Registry, servable: Servable, weights: Path) -> None:
    first = roost.import_model(weights, servable(1), "f", "s")
    key = ModelKey("f", "s", "imported")
    deployed = registry.server.deployments.deploy(key, DeployRequest())
    registry.server.clock.advance(5)
    roost.import_model(weights, servable(2), "f", "s")
    bundle = artifact("bundles", first.bundle_fingerprint)
    roost.collect_garbage(grace=NO_GRACE)
    assert bundle in stored(registry)
    registry.server.deployments.undeploy(deployed.key)
    registry.server.reconcile()
    roost.collect_garbage(grace=NO_GRACE)
    assert bundle not in stored(registry)


def test_a_deploy_of_what_was_replaced_and_deleted_meanwhile_takes_the_new(
    registry: Registry, servable: Servable, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collection, without a grace, comes between reading the model and recording the deployment."""
    roost.import_model(weights, servable(1), "f", "s")
    key = ModelKey("f", "s", "imported")
    second = servable(2)
    placed = registry.server.deployments._targets.placed
    raced: list[str] = []

    def replace_meanwhile(asked: object) -> object:
        target = placed(asked)  # type: ignore[arg-type]
        if not raced:
            raced.append(target.bundle_fingerprint)
            roost.import_model(weights, second, "f", "s")
            roost.collect_garbage(grace=NO_GRACE)
        return target

    monkeypatch.setattr(registry.server.deployments._targets, "placed", replace_meanwhile)
    deployed = registry.server.deployments.deploy(key, DeployRequest())
    assert artifact("bundles", raced[0]) not in stored(registry)
    assert deployed.bundle_fingerprint != raced[0]
    assert artifact("bundles", deployed.bundle_fingerprint) in stored(registry)


def test_one_at_a_time(registry: Registry) -> None:
    def hold(session: Session, lease_s: float) -> None:
        take_lease(session, LEASE, "another/1", now=registry.server.clock.now(), lease_s=lease_s)

    with registry.server.db.write() as session:
        hold(session, 60)
    with pytest.raises(Conflict, match="by server 'another/1'"):
        roost.collect_garbage()
    with registry.server.db.write() as session:
        hold(session, 0)
    assert roost.collect_garbage().lines == []


def test_a_grace_below_zero_is_refused(registry: Registry) -> None:
    with pytest.raises(ValidationFailed, match="grace_s"):
        roost.collect_garbage(grace=timedelta(seconds=-1))
    assert registry.server.requests == []
