"""What the records refer to."""

from __future__ import annotations

from datetime import timedelta

import pytest

from roost.contracts.deployment import DeployRequest
from roost.contracts.model import ClaimRequest
from roost.keys import DeploymentKey, ModelKey
from roost.records.deployments import find_deployment
from roost.services.references import References, names_in, read_references
from roost.testing.fake_clock import EPOCH
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

MODEL = ModelKey("f", "s", "one")
DEPLOYMENT = DeploymentKey("f", "s", "one")
WEIGHTS, OLD, NEW, REPLACED = "d" * 64, "a" * 64, "b" * 64, "c" * 64


def references(server: InProcessServer) -> References:
    with server.db.read() as session:
        return read_references(session, server.clock.now())


def deploy(server: InProcessServer) -> None:
    save_ready_model(server.db, MODEL, bundle=OLD)
    server.deployments.deploy(MODEL, DeployRequest())


def test_models_and_what_their_deployments_were_started_from(server: InProcessServer) -> None:
    assert references(server) == References(frozenset(), {}, None)
    deploy(server)
    save_ready_model(server.db, MODEL, bundle=NEW)
    with server.db.write() as session:
        row = find_deployment(session, DEPLOYMENT)
        assert row is not None
        row.replaced_bundle_fingerprint = REPLACED
    found = references(server)
    assert found.names == {WEIGHTS, OLD, NEW, REPLACED}
    assert found.weights == {WEIGHTS: "deployment 'f/s/one'"}
    assert found.notes == ()


def test_what_was_undeployed_refers_to_nothing(server: InProcessServer) -> None:
    deploy(server)
    server.ray.away = True
    server.deployments.undeploy(DEPLOYMENT)
    server.models.delete(MODEL)
    assert references(server).names >= {WEIGHTS, OLD}  # until Ray has let go of it
    server.ray.away = False
    server.reconcile()
    assert references(server).names == frozenset()


def test_uploads_under_way_since_the_oldest_live_claim(server: InProcessServer) -> None:
    server.models.claim(ModelKey("f", "s", "died"), ClaimRequest(mode="save", writer="ann"))
    server.clock.advance(31)
    assert references(server).uploading_since is None
    server.models.claim(ModelKey("f", "s", "first"), ClaimRequest(mode="save", writer="ann"))
    server.clock.advance(10)
    server.models.claim(ModelKey("f", "s", "second"), ClaimRequest(mode="save", writer="ann"))
    assert references(server).uploading_since == EPOCH + timedelta(seconds=31 - 60)


@pytest.mark.parametrize(
    "application",
    [{}, {"args": None}, {"args": {}}, {"args": {"weightsDigest": 7}}, {"args": {"weightsDigest": "x"}}],
)
def test_a_record_that_cannot_be_read_is_noted_and_its_names_count(
    server: InProcessServer, application: dict[str, object]
) -> None:
    deploy(server)
    with server.db.write() as session:
        row = find_deployment(session, DEPLOYMENT)
        assert row is not None
        row.application = {**application, "elsewhere": [f"s3://bucket/runtime/{REPLACED}.zip"]}
    found = references(server)
    assert REPLACED in found.names
    (note,) = found.notes
    assert note.startswith("The record of deployment 'f/s/one' cannot be read")


def test_names_are_whole_and_lower_case() -> None:
    assert names_in(f"file:///x/runtime/{OLD}.zip {NEW}") == {OLD, NEW}
    assert names_in(f"{OLD}a {OLD[1:]} {OLD.upper()}") == set()
