"""What replicas say of themselves, asked through an ingress that lets them take turns."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import cycle
from threading import Thread
from typing import Any

import pytest

from roost.engine.ingress import Ingress
from roost.serving.usage import Usage

Headers = dict[str, str]


class FakeIngress:
    """Answers with the headers of the next replica; without any with 500."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.turns: Iterator[Headers] = iter(())

        def answer(handler: BaseHTTPRequestHandler) -> None:
            self.asked.append(handler.path)
            headers = next(self.turns, None)
            handler.send_response(500 if headers is None else 204)
            for name, value in (headers or {}).items():
                handler.send_header(name, value)
            handler.end_headers()

        kind: Any = type("Handler", (BaseHTTPRequestHandler,), {"do_GET": answer, "log_message": _quiet})
        self.server = HTTPServer(("127.0.0.1", 0), kind)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def _quiet(*_: object) -> None:
    """No log."""


@pytest.fixture
def behind() -> Iterator[FakeIngress]:
    fake = FakeIngress()
    thread = Thread(target=fake.server.serve_forever, args=(0.01,))
    thread.start()
    yield fake
    fake.server.shutdown()
    thread.join()
    fake.server.server_close()


@pytest.fixture
def ingress(behind: FakeIngress) -> Iterator[Ingress]:
    asked = Ingress(behind.url)
    yield asked
    asked.close()


def replica(name: str, in_flight: str = "0", idle_s: str = "10.0", version: str = "v2") -> Headers:
    return {
        "x-roost-replica": version,
        "x-roost-replica-id": name,
        "x-roost-in-flight": in_flight,
        "x-roost-idle-s": idle_s,
    }


def test_all_replicas_together(behind: FakeIngress, ingress: Ingress) -> None:
    behind.turns = iter([replica("a", "2", "0.0"), replica("a", "2", "0.0"), replica("b", "1", "0.5")])
    assert ingress.usage("/r/f/s/r", 2) == Usage(in_flight=3, idle_s=0.0)
    assert behind.asked == ["/r/f/s/r/-/roost"] * 3


def test_one_that_is_never_heard_makes_it_unknown(behind: FakeIngress, ingress: Ingress) -> None:
    behind.turns = cycle([replica("a")])
    assert ingress.usage("/r/f/s/r", 2) is None
    assert len(behind.asked) == 8


def test_no_answer_and_a_replica_that_does_not_say_are_asked_once(
    behind: FakeIngress, ingress: Ingress
) -> None:
    assert ingress.usage("/r/f/s/r", 3) is None
    behind.turns = iter([{"x-roost-replica": "v1"}])
    assert ingress.usage("/r/f/s/r", 3) is None
    behind.turns = iter([replica("a", in_flight="many")])
    assert ingress.usage("/r/f/s/r", 3) is None
    assert len(behind.asked) == 3


def test_it_routes_to_a_version_when_five_in_a_row_say_so(behind: FakeIngress, ingress: Ingress) -> None:
    behind.turns = cycle([replica("a")])
    assert ingress.routes("/r/f/s/r", "v2")
    behind.turns = cycle([replica("a"), replica("b"), replica("old", version="v1")])
    assert not ingress.routes("/r/f/s/r", "v2")


def test_an_ingress_that_is_away_says_nothing() -> None:
    nobody = Ingress("http://127.0.0.1:9")
    assert nobody.usage("/r/f/s/r", 1) is None
    assert not nobody.routes("/r/f/s/r", "v2")
    nobody.close()
