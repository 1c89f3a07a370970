"""The request loop against a real server that answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

from roost.testing.request_loop import RequestLoop
from roost.testing.server_process import free_port, wait_until

WAIT_S = 20.0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: list[tuple[int, str]]
    bodies: list[bytes]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        status, text = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.send_response(status)
        if status == 503:
            self.send_header("Retry-After", "2")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


@contextmanager
def serving(*script: tuple[int, str]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives these answers, the last one for ever; its URL and the bodies it got."""

    class Scripted(Handler):
        pass

    Scripted.script, Scripted.bodies = list(script), []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", Scripted.bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_answers_are_counted_and_failures_kept() -> None:
    with serving((200, "a"), (200, "a"), (503, "full"), (200, "b")) as (url, _):
        with RequestLoop(url, pause_s=0.001) as loop:
            wait_until(lambda: loop.answers["b"] >= 2, WAIT_S, "two answers of b")
        assert loop.answers["a"] == 2
        assert [(each.status, each.what, each.retry_after) for each in loop.failures] == [(503, "full", "2")]
        assert loop.failures[0].began_s <= loop.failures[0].ended_s
        assert 0 < loop.slowest_s <= loop.gap_s


def test_a_body_is_posted_and_who_answers_is_read() -> None:
    def who(answer: httpx2.Response) -> str:
        name: str = answer.json()["who"]
        return name

    with serving((200, '{"who": "me"}')) as (url, bodies):
        with RequestLoop(url, {"model": "m"}, who=who, pause_s=0.001) as loop:
            wait_until(lambda: loop.answers["me"] >= 1, WAIT_S, "an answer")
        assert set(loop.answers) == {"me"}
        assert bodies[0].replace(b" ", b"") == b'{"model":"m"}'


def test_no_connection_is_a_failure_without_a_status() -> None:
    with RequestLoop(f"http://127.0.0.1:{free_port()}", pause_s=0.001) as loop:
        wait_until(lambda: len(loop.failures) >= 2, WAIT_S, "two failures")
    assert {failure.status for failure in loop.failures} == {0}
    assert "ConnectError" in loop.failures[0].what
    assert not loop.answers
