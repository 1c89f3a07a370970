"""What happens at the storage's door, over a transport in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import httpx2
import pytest

from roost.client import object_transfer
from roost.client.object_transfer import ObjectTransfer
from roost.errors import ArtifactNotFound, Forbidden, Unavailable

URL = "http://s3.test/bucket/chunks/ab/abc?X-Amz-Signature=secret"


class _Body(httpx2.SyncByteStream):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)


class Storage(httpx2.BaseTransport):
    """Answers with what it was given, one after the other; writes down what it was asked."""

    def __init__(self, *answers: tuple[int, Iterable[bytes]] | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []
        self.waits: list[float] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return httpx2.Response(status, headers={"Location": "http://elsewhere.test/"}, stream=_Body(body))

    def transfer(self) -> ObjectTransfer:
        return ObjectTransfer(self, sleep=self.waits.append)


def test_bytes_come_back_and_go_with_what_was_signed_only() -> None:
    storage = Storage((200, [b"weights"]), (200, []))
    transfer = storage.transfer()
    assert transfer.get(URL) == b"weights"
    transfer.put(URL, b"more", {"x-amz-checksum-sha256": "0" * 64})
    sent = storage.requests[1]
    assert (sent.method, sent.content, sent.headers["x-amz-checksum-sha256"]) == ("PUT", b"more", "0" * 64)
    assert {"authorization", "x-api-key"}.isdisjoint(storage.requests[0].headers | sent.headers)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_storage_is_asked_again(status: int) -> None:
    storage = Storage(*[(status, [])] * 3, (200, [b"x"]))
    assert storage.transfer().get(URL) == b"x"
    assert storage.waits == sorted(storage.waits)
    assert len(storage.waits) == 3


def test_a_time_out_and_a_cut_connection_are_tried_again() -> None:
    storage = Storage(httpx2.ReadTimeout("slow"), httpx2.WriteError("cut"), (200, []))
    storage.transfer().put(URL, b"x", {})
    assert [request.content for request in storage.requests] == [b"x", b"x", b"x"]


def test_it_gives_up_in_the_end() -> None:
    storage = Storage(*[(503, [])] * 9)
    with pytest.raises(Unavailable, match="HTTP 503"):
        storage.transfer().get(URL)
    assert len(storage.requests) == 4


def test_where_nobody_listens_there_is_no_waiting() -> None:
    storage = Storage(httpx2.ConnectError("Connection refused"))
    with pytest.raises(Unavailable, match="does not answer at 'http://s3"):
        storage.transfer().get(URL)
    assert storage.waits == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, ArtifactNotFound), (403, Forbidden), (400, Forbidden), (301, Forbidden), (307, Forbidden)],
)
def test_a_refusal_is_not_tried_again_and_does_not_show_the_signature(
    status: int, kind: type[Exception]
) -> None:
    storage = Storage((status, []))
    with pytest.raises(kind) as caught:
        storage.transfer().get(URL)
    assert len(storage.requests) == 1
    assert "secret" not in str(caught.value)


def test_an_object_without_end_is_not_read_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def endless() -> Iterator[bytes]:
        while True:
            read.append(1000)
            yield bytes(1000)

    monkeypatch.setattr(object_transfer, "MAX_BYTES", 5000)
    with pytest.raises(Forbidden, match="more than 5000 bytes"):
        Storage((200, endless())).transfer().get(URL)
    assert sum(read) == 6000
