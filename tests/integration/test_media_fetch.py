"""Images from URLs, against a real HTTP server on loopback that the policy allow-lists."""

from __future__ import annotations

import gzip
import io
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from PIL import Image

from roost.capabilities import MediaPolicy, load_image
from roost.errors import InvalidMedia, PayloadTooLarge


def png() -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((64, 48), 90).save(buffer, "PNG")
    return buffer.getvalue()


PNG = png()
Answer = Callable[["Site", socket.socket], None]


def respond(body: bytes, *headers: str, status: str = "200 OK") -> Answer:
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode()
    return lambda _site, connection: connection.sendall(head + body)


def whole(body: bytes) -> Answer:
    return respond(body, f"Content-Length: {len(body)}")


def redirect(location: str) -> Answer:
    return respond(b"", f"Location: {location}", "Content-Length: 0", status="302 Found")


def chunked(body: bytes, size: int = 1000) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def drip(site: Site, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not site.is_closing.wait(0.02):
        connection.sendall(b"a")


def silence(site: Site, connection: socket.socket) -> None:
    site.is_closing.wait(30)


@dataclass
class Site:
    """A server that plays one scripted answer a path and keeps what it was asked."""

    port: int
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    is_closing: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def serve(self, connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            received = connection.recv(65536)
            if not received:
                return
            request += received
        self.requests.append(request)
        path = request.split(b" ", 2)[1].decode().partition("?")[0]
        try:
            self.answers[path](self, connection)
        except ConnectionError:
            return  # the client has had enough


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            running.serve(self.request)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        running = Site(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.is_closing.set()
        server.shutdown()
        thread.join()


def policy(**changes: Any) -> MediaPolicy:
    return MediaPolicy(**{"allowed_networks": ("127.0.0.0/8",), "read_timeout_s": 5.0, **changes})


@pytest.mark.parametrize(
    "answer",
    [
        whole(PNG),
        respond(PNG),
        respond(chunked(PNG), "Transfer-Encoding: chunked"),
        respond(PNG, f"Content-Length: {len(PNG)}", "Content-Type: text/html", "Content-Encoding: identity"),
    ],
)
def test_an_image_is_read_however_its_length_is_told(site: Site, answer: Answer) -> None:
    site.answers["/a.png"] = answer

    assert load_image(site.url("/a.png"), policy()).size == (64, 48)


def test_the_request_carries_host_and_query_and_asks_for_no_compression(site: Site) -> None:
    site.answers["/a%20%C3%BC.png"] = whole(PNG)

    load_image(site.url("/a%20ü.png?x=1&y=%2F"), policy())

    request = site.requests[0]
    assert request.startswith(b"GET /a%20%C3%BC.png?x=1&y=%2F HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{site.port}\r\n".encode() in request
    assert b"Accept-Encoding: identity\r\n" in request


def test_redirects_are_followed_up_to_the_bound(site: Site) -> None:
    site.answers |= {
        "/0": redirect("/1"),
        "/1": redirect(site.url("/2")),
        "/2": redirect("3"),
        "/3": whole(PNG),
    }

    assert load_image(site.url("/0"), policy()).size == (64, 48)
    with pytest.raises(InvalidMedia, match="redirects more than 2 times"):
        load_image(site.url("/0"), policy(max_redirects=2))


def test_a_loop_of_redirects_ends(site: Site) -> None:
    site.answers["/loop"] = redirect("/loop")

    with pytest.raises(InvalidMedia, match="redirects more than 3 times"):
        load_image(site.url("/loop"), policy())
    assert len(site.requests) == 4


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "//10.0.0.1/a.png",
        "http://2852039166/",
        "http://[::1]/a.png",
        "http://[::ffff:10.0.0.1]/",
        "https://192.168.0.1/",
    ],
)
def test_a_redirect_to_a_private_host_is_refused(site: Site, location: str) -> None:
    site.answers["/a.png"] = redirect(location)

    with pytest.raises(InvalidMedia, match="has no address that may be reached"):
        load_image(site.url("/a.png"), policy())


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/", "data:image/png;base64,aGk="])
def test_a_redirect_to_another_scheme_is_refused(site: Site, location: str) -> None:
    site.answers["/a.png"] = redirect(location)

    with pytest.raises(InvalidMedia, match="media URL is not valid"):
        load_image(site.url("/a.png"), policy())


def test_loopback_is_refused_unless_allow_listed(site: Site) -> None:
    site.answers["/a.png"] = whole(PNG)

    for host in ("127.0.0.1", "localhost", "2130706433", "127.1"):
        with pytest.raises(InvalidMedia, match="has no address that may be reached"):
            load_image(site.url("/a.png", host), MediaPolicy())
    assert site.requests == []


def test_a_name_is_resolved_once_and_that_address_is_dialled(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/a.png"] = whole(PNG)
    asked: list[str] = []

    def rebinding(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)

    assert load_image(site.url("/a.png", "rebinding.test"), policy()).size == (64, 48)
    assert asked == ["rebinding.test"]
    with pytest.raises(InvalidMedia) as caught:
        load_image(site.url("/a.png", "rebinding.test"), policy())
    assert "10.0.0.1" not in str(caught.value)


def test_a_name_with_one_private_address_among_public_ones_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, site.port)) for host in ("127.0.0.1", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)

    with pytest.raises(InvalidMedia, match="has no address that may be reached"):
        load_image(site.url("/a.png", "mixed.test"), policy())
    assert site.requests == []


def test_proxies_of_the_environment_are_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answers["/a.png"] = whole(PNG)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert load_image(site.url("/a.png"), policy()).size == (64, 48)


@pytest.mark.parametrize(
    "answer",
    [
        whole(PNG),
        respond(PNG),
        respond(chunked(PNG), "Transfer-Encoding: chunked"),
        respond(b"", "Content-Length: 99999999999"),
    ],
)
def test_bytes_over_the_cap_are_refused_declared_or_received(site: Site, answer: Answer) -> None:
    site.answers["/a.png"] = answer

    with pytest.raises(PayloadTooLarge):
        load_image(site.url("/a.png"), policy(max_bytes=len(PNG) - 1))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (respond(PNG[:-100], f"Content-Length: {len(PNG)}"), "cut its answer off"),
        (respond(PNG[:-100]), "broken or cut off"),
        (respond(chunked(PNG)[:-200], "Transfer-Encoding: chunked"), "could not be read from"),
        (respond(b"no", "Content-Length: 2", status="404 Not Found"), "answered 404, not 200"),
        (respond(PNG, status="206 Partial Content"), "answered 206, not 200"),
        (respond(b"", status="302 Found"), "answered 302, not 200"),
        (respond(gzip.compress(PNG), "Content-Encoding: gzip"), "compresses its answer"),
        (whole(b"<html>"), "is none of JPEG"),
        (lambda _site, connection: connection.sendall(b"junk\r\n\r\n"), "could not be read from"),
        (
            lambda _site, connection: connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"a" * 70_000),
            "could not be read",
        ),
        (lambda _site, _connection: None, "could not be read from"),
    ],
)
def test_answers_that_hold_no_whole_image_are_refused(site: Site, answer: Answer, message: str) -> None:
    site.answers["/a.png"] = answer

    with pytest.raises(InvalidMedia, match=message):
        load_image(site.url("/a.png"), policy())


@pytest.mark.parametrize(
    ("answer", "limits"),
    [
        (silence, {"read_timeout_s": 0.2}),
        (silence, {"total_timeout_s": 0.2}),
        (drip, {"total_timeout_s": 0.3}),
    ],
)
def test_a_slow_server_is_left_in_time(site: Site, answer: Answer, limits: dict[str, float]) -> None:
    site.answers["/a.png"] = answer
    started_at = time.monotonic()

    with pytest.raises(InvalidMedia, match="did not answer in time"):
        load_image(site.url("/a.png"), policy(**limits))
    assert time.monotonic() - started_at < 3.0


def test_a_closed_port_is_an_error_of_ours_without_an_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(InvalidMedia) as caught:
        load_image(f"http://localhost:{port}/", policy(allowed_networks=("127.0.0.0/8", "::1/128")))
    assert str(caught.value) == "media host 'localhost' could not be read from."
