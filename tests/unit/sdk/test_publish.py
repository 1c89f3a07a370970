"""The lease under which an entry is written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.bundle import pack, trace
from roost.contracts.model import Claim, ClaimRequest
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy
from roost.keys import ModelKey
from roost.sdk.publish import Entry, Publisher, Servable
from roost.sdk.sources.weights import WeightsSource
from roost.testing.in_process import InProcessServer

KEY = ModelKey("f", "s", "imported")
RENEWED = ("PUT", "/api/models/f/s/imported/claims/")


@pytest.fixture
def entry(servable: Callable[..., type]) -> Entry:
    bundle = pack(trace(servable()))
    ref = ServableRef(
        class_path=bundle.class_path, kind="serve_app", bundle_fingerprint=bundle.fingerprint, pins=[]
    )
    return Entry(Servable(ref, bundle), None, None)


def short_claim(server: InProcessServer) -> Claim:
    """A claim that is renewed a hundred times a second."""
    claim = server.models.claim(KEY, ClaimRequest(mode="import", writer="me"))
    return claim.model_copy(update={"lease_s": 0.03})


def lease_thread() -> threading.Thread:
    (thread,) = [thread for thread in threading.enumerate() if thread.name == f"lease {KEY}"]
    return thread


def renewals(server: InProcessServer) -> int:
    return sum(call[0] == RENEWED[0] and call[1].startswith(RENEWED[1]) for call in server.requests)


def test_it_is_renewed_while_the_upload_goes_on(server: InProcessServer, entry: Entry, weights: Path) -> None:
    threads = []

    def source() -> Path:
        threads.append(lease_thread())
        while renewals(server) < 3:
            threads[0].join(0.01)
        return weights

    saved = Publisher(server.client()).publish(KEY, short_claim(server), entry, WeightsSource(source))
    assert saved.phase == "ready"
    threads[0].join(10)
    assert not threads[0].is_alive()


def test_one_that_was_lost_ends_the_upload_before_the_commit(
    server: InProcessServer, entry: Entry, weights: Path
) -> None:
    def source() -> Path:
        server.clock.advance(31)
        server.models.claim(KEY, ClaimRequest(mode="import", writer="eve"))
        lease_thread().join(10)
        return weights

    with pytest.raises(ModelBusy, match="taken over by 'eve'"):
        Publisher(server.client()).publish(KEY, short_claim(server), entry, WeightsSource(source))
    assert not [path for _, path in server.requests if path.endswith("/commit")]


def test_a_server_that_is_away_for_a_moment_does_not_lose_it(
    server: InProcessServer, entry: Entry, weights: Path
) -> None:
    def source() -> Path:
        thread = lease_thread()
        server.down = True
        while renewals(server) < 2:
            thread.join(0.01)
        server.down = False
        return weights

    saved = Publisher(server.client()).publish(KEY, short_claim(server), entry, WeightsSource(source))
    assert saved.phase == "ready"


def test_a_bundle_that_is_stored_is_not_sent_again(
    server: InProcessServer, entry: Entry, weights: Path
) -> None:
    publisher = Publisher(server.client())
    for _ in range(2):
        publisher.upload_bundle(entry.servable.bundle)
    sent = [call for call in server.requests if call[0] == "PUT"]
    assert sent == [("PUT", f"/api/artifacts/bundles/{entry.servable.bundle.fingerprint}")]
