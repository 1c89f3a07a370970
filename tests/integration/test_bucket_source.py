"""Weights from a bucket: a real S3, and one that lies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape

import obstore
import pytest

from roost.errors import InvalidWeights, NotFound, StorageDenied, Unavailable
from roost.sdk.sources.address import BucketAddress
from roost.sdk.sources.bucket import PIECE_BYTES, open_bucket
from roost.storage.backends import open_backend
from roost.testing.seaweedfs import SeaweedServer

PREFIX = "models/tiny"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


class LyingS3(ThreadingHTTPServer):
    """Lists the keys it is told to, and answers with the contents it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.listed: dict[str, int] = {}
        self.contents: dict[str, bytes] = {}
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LyingS3

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if self.server.status != 200:
            self._send(self.server.status, b"<Error><Code>AccessDenied</Code></Error>")
        elif "list-type=2" in url.query:
            self._send(200, self._listing())
        else:
            self._send_object(unquote(url.path).removeprefix("/bucket/"))

    def _listing(self) -> bytes:
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>&quot;e&quot;</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, size in self.server.listed.items()
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()

    def _send_object(self, key: str) -> None:
        data = self.server.contents.get(key)
        if data is None:
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        begin, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
        part = data[int(begin) : int(end) + 1]
        shown = f"bytes {begin}-{int(begin) + len(part) - 1}/{len(data)}"
        self._send(206, part, {"Content-Range": shown, "ETag": '"e"'})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        fields = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Content-Length": str(len(body))}
        for name, value in {**fields, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written."""


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> Iterator[LyingS3]:
    server = LyingS3()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server.url,
    }.items():
        monkeypatch.setenv(name, value)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def copied(url: str) -> dict[str, bytes]:
    with open_bucket(BucketAddress(url)) as directory:
        return {
            path.relative_to(directory).as_posix(): path.read_bytes()
            for path in directory.rglob("*")
            if path.is_file()
        }


def leftovers(cache: Path) -> list[Path]:
    return [path for path in (cache / "imports").glob("*") if path.is_dir()]


def test_a_tree_comes_out_of_s3(s3: SeaweedServer, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    url = s3.new_url()
    tree = {
        "config.json": b"{}",
        "deep/er/empty": b"",
        "deep/words with space+%.txt": b"one",
        "model.bin": bytes(range(256)) * (PIECE_BYTES // 256) + b"end",
    }
    backend, _ = open_backend(url)
    for path, data in tree.items():
        obstore.put(backend, path, data)
    beside, _ = open_backend(f"{url}-beside")
    obstore.put(beside, "other.bin", b"of another prefix")
    assert copied(url) == tree
    assert copied(f"{url}/deep/") == {"er/empty": b"", "words with space+%.txt": b"one"}
    assert leftovers(cache) == []
    with pytest.raises(NotFound, match="no object below"):
        copied(f"{url}/nothing")
    with pytest.raises(Unavailable, match="there is no such bucket") as caught:
        copied("s3://no-such-bucket/x")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("Check the URL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(Unavailable, match="the secret key is wrong"):
        copied(url)


@pytest.mark.parametrize(
    "key", ["../x", "a/../../x", "a/./b", "a//b", "/etc/passwd", "a\\b", "a\0b", "x" * 300]
)
def test_hostile_keys_are_refused_by_name(liar: LyingS3, cache: Path, key: str) -> None:
    liar.listed = {f"{PREFIX}/fine": 4, f"{PREFIX}/{key}": 4}
    liar.contents = dict.fromkeys(liar.listed, b"evil")
    with pytest.raises(InvalidWeights, match="is not valid: "):
        copied(f"s3://bucket/{PREFIX}")
    assert not cache.exists()


def test_keys_are_taken_as_they_are_written(liar: LyingS3) -> None:
    liar.listed = {f"{PREFIX}/%2e%2e/a": 4}
    liar.contents = {f"{PREFIX}/%2e%2e/a": b"data"}
    assert copied(f"s3://bucket/{PREFIX}") == {"%2e%2e/a": b"data"}


def test_keys_that_collide_are_refused(liar: LyingS3, cache: Path) -> None:
    liar.listed = {f"{PREFIX}/a": 4, f"{PREFIX}/a/b": 4}
    with pytest.raises(InvalidWeights, match="'a' is no directory"):
        copied(f"s3://bucket/{PREFIX}")
    assert not cache.exists()


def test_an_object_of_another_size_is_refused(liar: LyingS3, cache: Path) -> None:
    liar.listed = {f"{PREFIX}/a": 4}
    liar.contents = {f"{PREFIX}/a": b"12345"}
    with pytest.raises(InvalidWeights, match="'a' changed while it was copied"):
        copied(f"s3://bucket/{PREFIX}")
    assert leftovers(cache) == []


def test_a_refusal_is_said(liar: LyingS3) -> None:
    liar.status = 403
    with pytest.raises(StorageDenied, match="refuses access to") as caught:
        copied(f"s3://bucket/{PREFIX}")
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("list and read there.")
