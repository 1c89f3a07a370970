from __future__ import annotations

import pytest

from roost.cli.doctor_storage import storage_findings
from roost.cli.finding import Finding
from roost.contracts.info import StorageInfo
from roost.contracts.storage import StorageCheck
from roost.testing.in_process import InProcessServer

BUCKET = StorageInfo(url="s3://bucket/roost", storage_id="1")


def findings(server: InProcessServer, storage: StorageInfo = BUCKET) -> list[Finding]:
    return list(storage_findings(server.client(), storage))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> StorageCheck:
    """What the server's trial gives; a test alters it."""
    check = StorageCheck(clock_ahead_s=0.4, signed_reads=True, signed_writes=True)
    monkeypatch.setattr("roost.services.storage.StorageTrial.check", lambda _: check)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    return check


def test_a_storage_of_the_server_alone(server: InProcessServer) -> None:
    storage, here = findings(server, server.storage)
    assert (storage.result, storage.detail) == ("ok", "memory:///: stores, lists, reads and deletes")
    assert (here.check, here.detail) == ("storage from here", "read and written through the server")


@pytest.mark.parametrize(
    ("reads", "writes", "detail"),
    [
        (True, True, "read and written by signed URLs"),
        (True, False, "read by signed URLs, written through the server"),
        (False, False, "read and written through the server"),
    ],
)
def test_the_way_to_a_bucket(
    server: InProcessServer, found: StorageCheck, reads: bool, writes: bool, detail: str
) -> None:
    found.signed_reads, found.signed_writes = reads, writes
    assert findings(server)[-1].detail == detail


def test_one_that_fails(server: InProcessServer, found: StorageCheck) -> None:
    found.problem, found.hint = "It cannot store an object: no.", "Check AWS_SECRET_ACCESS_KEY."
    (only,) = findings(server)
    assert (only.result, only.detail) == ("failed", "s3://bucket/roost: It cannot store an object: no.")
    assert only.next_step == "Check AWS_SECRET_ACCESS_KEY."


@pytest.mark.parametrize(
    ("ahead_s", "result", "detail"),
    [
        (59.0, None, ""),
        (75.0, "warning", "the storage's clock is 75 s ahead of the server's"),
        (-90.0, "warning", "the storage's clock is 90 s behind the server's"),
        (901.0, "failed", "the storage's clock is 901 s ahead of the server's"),
    ],
)
def test_its_clock(
    server: InProcessServer, found: StorageCheck, ahead_s: float, result: str | None, detail: str
) -> None:
    found.clock_ahead_s = ahead_s
    clock = [(each.result, each.detail) for each in findings(server) if each.check == "storage clock"]
    assert clock == ([(result, detail)] if result else [])


def test_a_server_that_does_not_answer(server: InProcessServer) -> None:
    server.down = True
    (only,) = findings(server)
    assert (only.check, only.result) == ("storage", "failed")
