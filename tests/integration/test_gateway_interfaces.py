"""What `/v1/models` asks of a replica over a real connection."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from roost.gateway.interfaces import Interfaces
from roost.gateway.pool import UpstreamPool
from roost.keys import DeploymentKey

KEY = DeploymentKey("a", "b", "c")


@dataclass(frozen=True)
class Route:
    url: str
    phase: str = "running"
    capability: str | None = "detection"
    name: str = "m"
    timeout_s: float = 20.0
    key: DeploymentKey = KEY
    ray_status: str = "RUNNING"


class Replica:
    """Answers every request with `answer`; counts them and keeps the first lines."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.lines: list[bytes] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b"":
            self.lines.append(head.splitlines()[0])
            writer.write(self.answer)
            if self.answer.startswith(b"HTTP/1.1 200 OK\r\nConnection: close"):
                break
        writer.close()


def http(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def ask_twice(
    answer: bytes, phase: str = "running", capability: str | None = "detection"
) -> tuple[object, Replica]:
    async def run() -> tuple[object, Replica]:
        replica = Replica(answer)
        listener = await asyncio.start_server(replica.handle, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/r/a/b/c"
        interfaces = Interfaces(UpstreamPool())
        async with listener:
            first = await interfaces.find_all([Route(url, phase, capability)])
            assert await interfaces.find_all([Route(url, phase, capability)]) == first
        return first[0], replica

    return asyncio.run(run())


def test_an_interface_is_asked_for_once() -> None:
    interface, replica = ask_twice(http(b'{"classes": "closed"}'))
    assert interface == {"classes": "closed"}
    assert replica.lines == [b"GET /r/a/b/c/v1/interface HTTP/1.1"]


@pytest.mark.parametrize(
    "answer", [http(b"null"), http(b"{"), http(b"[]"), http(b"{}", b"500 Oops"), b"SSH-2.0\r\n\r\n"]
)
def test_no_proper_answer_is_no_interface(answer: bytes) -> None:
    assert ask_twice(answer)[0] is None


@pytest.mark.parametrize(
    ("phase", "capability"), [("paused", "detection"), ("failed", "detection"), ("running", None)]
)
def test_models_that_would_be_woken_or_have_none_are_not_asked(phase: str, capability: str | None) -> None:
    interface, replica = ask_twice(http(b"{}"), phase, capability)
    assert interface is None
    assert replica.lines == []


def test_a_replica_that_is_gone_has_no_interface() -> None:
    async def run() -> None:
        listener = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        listener.close()
        await listener.wait_closed()
        assert await Interfaces(UpstreamPool()).find_all([Route(f"http://127.0.0.1:{port}/r")]) == [None]

    asyncio.run(run())
