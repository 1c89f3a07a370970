from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

import httpx2
import pytest

from roost.errors import InvalidName, StorageDenied
from roost.storage.signed import ArtifactSigner
from roost.storage.store import ObjectStore

NAME = "0" * 64


def checked(request: httpx2.Request) -> httpx2.Response:
    """As S3 does it."""
    wanted = request.headers["x-amz-checksum-sha256"]
    found = base64.b64encode(hashlib.sha256(request.read()).digest()).decode()
    return httpx2.Response(200 if wanted == found else 400)


class Storage(httpx2.MockTransport):
    """Answers a trial upload by `answer`, and counts them."""

    def __init__(self, answer: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self.puts: list[str] = []

        def note(request: httpx2.Request) -> httpx2.Response:
            self.puts.append(request.url.path)
            return answer(request)

        super().__init__(note)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    store = ObjectStore.open("s3://bucket/x")
    monkeypatch.setattr(store, "delete", lambda path: None)
    return store


def test_an_upload_is_signed_where_other_bytes_are_refused(store: ObjectStore) -> None:
    storage = Storage(checked)
    signer = ArtifactSigner(store, storage)
    answer = signer.sign("chunks", [NAME], "PUT")
    assert answer.urls is not None
    assert f"/bucket/x/chunks/00/{NAME}?" in answer.urls[NAME]
    assert answer.headers == {NAME: {"x-amz-checksum-sha256": base64.b64encode(bytes(32)).decode()}}
    assert answer.expires_s == 900
    signer.sign("chunks", [NAME], "PUT")
    assert len(storage.puts) == 2
    assert all(path.startswith("/bucket/x/probes/") for path in storage.puts)


@pytest.mark.parametrize("status", [200, 403, 501])
def test_a_storage_that_does_not_tell_bytes_apart_gets_no_signed_uploads(
    store: ObjectStore, status: int
) -> None:
    storage = Storage(lambda _: httpx2.Response(status))
    signer = ArtifactSigner(store, storage)
    assert [signer.sign("chunks", [NAME], "PUT").urls for _ in range(3)] == [None, None, None]
    assert len(storage.puts) == 2
    assert signer.sign("chunks", [NAME], "GET").urls is not None


def test_one_that_does_not_answer_is_tried_again(store: ObjectStore) -> None:
    def away(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    storage = Storage(away)
    signer = ArtifactSigner(store, storage)
    assert [signer.sign("chunks", [NAME], "PUT").urls for _ in range(2)] == [None, None]
    assert len(storage.puts) == 2


def test_what_the_server_must_look_into_is_not_signed_for_writing(store: ObjectStore) -> None:
    signer = ArtifactSigner(store, Storage(checked))
    assert signer.sign("manifests", [NAME], "PUT").urls is None
    assert signer.sign("bundles", [NAME], "PUT").urls is None
    assert signer.sign("bundles", [NAME], "GET").urls is not None


@pytest.mark.parametrize("name", ["", "../x", "0" * 63, "0" * 64 + "/", "A" * 64])
def test_only_names_of_artifacts_are_signed(store: ObjectStore, name: str) -> None:
    with pytest.raises(InvalidName):
        ArtifactSigner(store, Storage(checked)).sign("chunks", [name], "GET")


def test_a_folder_has_none() -> None:
    signer = ArtifactSigner(ObjectStore.open("memory:///"))
    assert signer.sign("chunks", [NAME], "GET").urls is None
    assert signer.sign("chunks", [NAME], "PUT").urls is None


def test_credentials_that_may_not_sign(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StorageDenied("storage 'gs://b' refuses access to 'x'.")

    monkeypatch.setattr(store, "sign_get", refuse)
    assert ArtifactSigner(store, Storage(checked)).sign("chunks", [NAME], "GET").urls is None
