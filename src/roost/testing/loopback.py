"""Puts an `InProcessServer` on a port of loopback, for callers in other processes."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

import httpx2

from roost.testing.in_process import URL, InProcessServer


class Loopback:
    """Answers over HTTP what the server in this process answers; a context manager."""

    def __init__(self, server: InProcessServer) -> None:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """For `ROOST_URL`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler(server: InProcessServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = [(name, value) for name, value in self.headers.items() if name.lower() != "host"]
            request = httpx2.Request(self.command, f"{URL}{self.path}", headers=headers, content=body)
            answer = server.answer(request)
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name.lower() not in ("content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815  # the names that http.server calls

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is written: the tests look at `requests`."""

    return Handler
