"""A bucket on a real S3 server: what is said when it refuses, and that it may go away for a moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from roost.contracts.info import StorageInfo
from roost.errors import StorageDenied, Unavailable
from roost.sdk.artifacts import find_way
from roost.storage.backends import BRIEF
from roost.storage.signed import ArtifactSigner
from roost.storage.store import ObjectStore
from roost.testing.seaweedfs import SeaweedServer, find_program


@pytest.fixture
def url(s3: SeaweedServer, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return s3.new_url()


@pytest.mark.parametrize(
    ("name", "value", "what", "hint"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wrong", "the secret key is wrong", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_ACCESS_KEY_ID", "nobody", "does not know the access key", "AWS_ACCESS_KEY_ID"),
    ],
)
def test_wrong_keys(
    url: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str, what: str, hint: str
) -> None:
    good = ObjectStore.open(url)
    good.put("x", b"1")
    info = StorageInfo(url=url, storage_id=good.storage_id())
    monkeypatch.setenv(name, value)
    store = ObjectStore.open(url)
    for use in (lambda: store.put("x", b"2"), lambda: store.put_new("y", b"2"), lambda: store.get("x")):
        with pytest.raises(StorageDenied, match=what) as caught:
            use()
        assert hint in (caught.value.hint or "")
    with pytest.raises(StorageDenied, match="refuses access to 'x'"):
        store.find_size("x")
    assert good.get("x") == b"1"
    assert find_way(info) == "signed URLs"


def test_an_endpoint_where_nobody_listens(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(Unavailable, match=r"does not answer at 'http://127\.0\.0\.1:1': connection refused"):
        ObjectStore.open(url, BRIEF).get("x")


def test_plain_http_to_another_machine(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://192.0.2.1:9000")
    with pytest.raises(Unavailable, match="not on this machine") as caught:
        ObjectStore.open(url, BRIEF).get("x")
    assert "AWS_ALLOW_HTTP=true" in (caught.value.hint or "")


def test_it_passes_the_trial_of_signed_uploads(url: str) -> None:
    store = ObjectStore.open(url)
    assert ArtifactSigner(store).sign("chunks", ["0" * 64], "PUT").urls is not None
    assert list(store.list()) == []


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[SeaweedServer]:
    """One that a test may kill."""
    program = find_program()
    if program is None:
        pytest.skip("SeaweedFS is not installed")
    server = SeaweedServer(program)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    try:
        yield server.start()
    finally:
        server.stop()


def test_what_was_stored_survives_a_kill_and_a_writer_waits_for_it(own: SeaweedServer) -> None:
    store = ObjectStore.open(own.new_url())
    store.put("before", b"kept")
    own.kill()
    writer = threading.Thread(target=store.put, args=("meanwhile", b"late"))
    writer.start()
    own.start()
    writer.join(60)
    assert not writer.is_alive()
    assert (store.get("before"), store.get("meanwhile")) == (b"kept", b"late")
