"""The HTTP half of `FakeServe`: a threaded server that keeps its port over stops and starts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec


@dataclass(frozen=True, slots=True)
class FakeAnswer:
    """An answer: a str is sent as text, bytes as the JSON they are, anything else as JSON."""

    status: int
    body: Any


AnswerFunction = Callable[[str, str, Mapping[str, str], str | None, Any], FakeAnswer | None]
"""Method, path, query, bearer token and JSON body to an answer; None closes the connection without one."""


class FakeHttp:
    """Serves `answer` on a loopback port."""

    def __init__(self, answer: AnswerFunction) -> None:
        self.requests: list[tuple[str, str]] = []
        self._answer = answer
        self._port = 0
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """`http://127.0.0.1:port`."""
        if not self._port:
            raise RuntimeError("The fake server was never started.")
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, on the port it had before if it had one."""
        if self._server is not None:
            return
        self._server = _Server(self._port, self._answer, self.requests)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Refuse connections and wait for running answers."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server = self._thread = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, answer: AnswerFunction, requests: list[tuple[str, str]]) -> None:
        self.answer = answer
        self.requests = requests
        super().__init__(("127.0.0.1", port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _handle(self) -> None:
        self.server.requests.append((self.command, self.path))
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        url = urlsplit(self.path)
        scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
        bearer = token if scheme == "Bearer" else None
        answer = self.server.answer(self.command, url.path, dict(parse_qsl(url.query)), bearer, body)
        self.close_connection = True
        if answer is None:
            return
        is_text = isinstance(answer.body, str)
        data = _encoded(answer.body)
        self.send_response(answer.status)
        self.send_header("Content-Type", "text/plain" if is_text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(ConnectionError):  # whoever asked has left, as a real server would find, too
            self.wfile.write(data)


def _encoded(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else encode_json(body)


def encode_json(value: Any) -> bytes:
    """As JSON, fast where that is possible: not for whole numbers past 64 bits and lone surrogates."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, ValueError):
        return json.dumps(value).encode()
