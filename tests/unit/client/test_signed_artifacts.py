"""Reads and writes by signed URLs, against a server and a storage in this process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import httpx2
import pytest

from roost.client.object_transfer import ObjectTransfer
from roost.client.signed_artifacts import SignedArtifacts
from roost.contracts.artifact import ArtifactKind
from roost.errors import ArtifactNotFound, CorruptArtifact
from roost.testing.in_process import InProcessServer

DATA = b"a chunk"
NAME = hashlib.sha256(DATA).hexdigest()


class Bucket(httpx2.BaseTransport):
    """Keeps objects by path for URLs of its `epoch`; refuses those of an earlier one."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.epoch = 1
        self.broken: Exception | None = None

    def sign_put(self, path: str, *_: object) -> str:
        return f"http://bucket.test/{path}?epoch={self.epoch}"

    def sign_get(self, paths: list[str], *_: object) -> list[str]:
        return [self.sign_put(path) for path in paths]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/")
        self.requests.append((request.method, path))
        if self.broken is not None:
            raise self.broken
        if request.url.params["epoch"] != str(self.epoch):
            return httpx2.Response(403)
        if request.method == "PUT":
            self.objects[path] = request.read()
            return httpx2.Response(200, stream=_Body(b""))
        if path not in self.objects:
            return httpx2.Response(404)
        return httpx2.Response(200, stream=_Body(self.objects[path]))


class _Body(httpx2.SyncByteStream):
    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data


@pytest.fixture
def bucket(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """What the server's URLs lead to; the server itself keeps its artifacts elsewhere."""
    bucket = Bucket()
    monkeypatch.setattr(server.objects, "sign_get", bucket.sign_get)
    monkeypatch.setattr(server.objects, "sign_put", bucket.sign_put)
    monkeypatch.setattr(server.signer, "_refuses_others", True)
    return bucket


@pytest.fixture
def artifacts(server: InProcessServer, bucket: Bucket) -> SignedArtifacts:
    transfer = ObjectTransfer(bucket, sleep=lambda _: None)
    return SignedArtifacts(server.client(), lambda data: data.decode().split(), transfer)


def path(kind: ArtifactKind = "chunks", name: str = NAME) -> str:
    return {"chunks": f"chunks/{name[:2]}/{name}", "manifests": f"manifests/{name}.json"}[kind]


def test_a_chunk_goes_past_the_server(artifacts: SignedArtifacts, bucket: Bucket) -> None:
    artifacts.put("chunks", NAME, DATA)
    assert bucket.objects == {path(): DATA}
    assert artifacts.get("chunks", NAME) == DATA


def test_manifests_and_bundles_are_written_by_the_server_which_looks_into_them(
    artifacts: SignedArtifacts, bucket: Bucket, server: InProcessServer
) -> None:
    artifacts.put("bundles", NAME, b"a zip")
    assert bucket.requests == []
    assert server.store.objects == {("bundles", NAME): b"a zip"}


def test_a_url_that_ran_out_is_replaced(artifacts: SignedArtifacts, bucket: Bucket) -> None:
    names = [hashlib.sha256(bytes([n])).hexdigest() for n in range(3)]
    text = " ".join(names).encode()
    manifest = hashlib.sha256(text).hexdigest()
    bucket.objects |= {path("chunks", name): bytes([n]) for n, name in enumerate(names)}
    bucket.objects[path("manifests", manifest)] = text
    artifacts.get("manifests", manifest)
    assert artifacts.get("chunks", names[0]) == b"\0"
    bucket.epoch = 2
    assert [artifacts.get("chunks", name) for name in names] == [b"\0", b"\1", b"\2"]


@pytest.mark.parametrize(
    "broken", [httpx2.ConnectError("refused"), httpx2.ReadTimeout("slow"), httpx2.RemoteProtocolError("cut")]
)
def test_a_storage_that_does_not_answer_is_left_alone(
    artifacts: SignedArtifacts, bucket: Bucket, server: InProcessServer, broken: Exception
) -> None:
    bucket.broken = broken
    artifacts.put("chunks", NAME, DATA)
    tried = len(bucket.requests)
    assert artifacts.get("chunks", NAME) == DATA
    assert server.store.objects == {("chunks", NAME): DATA}
    assert len(bucket.requests) == tried


def test_a_storage_that_refuses_every_url_is_left_alone(
    artifacts: SignedArtifacts, bucket: Bucket, server: InProcessServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = "http://bucket.test/x?epoch=0"
    monkeypatch.setattr(server.objects, "sign_put", lambda *_: stale)
    artifacts.put("chunks", NAME, DATA)
    assert bucket.requests == [("PUT", "x"), ("PUT", "x")]
    assert server.store.objects == {("chunks", NAME): DATA}
    assert artifacts.get("chunks", NAME) == DATA
    assert len(bucket.requests) == 2


def test_other_bytes_than_the_name_says_are_never_handed_out(
    artifacts: SignedArtifacts, bucket: Bucket, server: InProcessServer
) -> None:
    bucket.objects[path()] = b"others"
    server.store.objects["chunks", NAME] = DATA
    assert artifacts.get("chunks", NAME) == DATA
    server.store.objects["chunks", NAME] = b"others"
    with pytest.raises(CorruptArtifact, match=NAME):
        artifacts.get("chunks", NAME)


def test_what_is_not_there_is_named_by_the_server(artifacts: SignedArtifacts, bucket: Bucket) -> None:
    with pytest.raises(ArtifactNotFound, match=NAME):
        artifacts.get("chunks", NAME)
    artifacts.put("chunks", NAME, DATA)
    assert bucket.objects == {path(): DATA}


def test_what_is_missing_is_for_the_server_to_say(
    artifacts: SignedArtifacts, server: InProcessServer
) -> None:
    server.store.objects["chunks", NAME] = DATA
    assert artifacts.missing("chunks", [NAME, "0" * 64]) == {"0" * 64}
