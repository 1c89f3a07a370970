"""Gets the bytes of an http(s) URL of a request: public hosts, bounded bytes, bounded time.

The standard library's HTTP client is given a socket that is already connected to a checked address,
so no proxy of the environment and no second name resolution comes between check and use.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from roost.capabilities.addresses import Endpoint, resolve
from roost.capabilities.policy import MediaPolicy
from roost.errors import InvalidMedia

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READ_BYTES = 64 * 1024


def fetch(url: str, policy: MediaPolicy) -> bytes:
    """The body that `url` answers with, redirects followed; every host on the way is checked.

    Raises:
        InvalidMedia: for a malformed URL, a host out of bounds, and an answer that is late, cut off or
            not a 200.
        PayloadTooLarge: for more bytes than the policy allows.
    """
    deadline = time.monotonic() + policy.total_timeout_s
    for _ in range(policy.max_redirects + 1):
        target = _Target.parse(url)
        try:
            answer = _get(target, deadline, policy)
        except TimeoutError as error:
            raise InvalidMedia(f"media host {target.host!r} did not answer in time.") from error
        except (OSError, http.client.HTTPException) as error:
            raise InvalidMedia(f"media host {target.host!r} could not be read from.") from error
        if isinstance(answer, bytes):
            return answer
        url = urljoin(url, answer.location)
    raise InvalidMedia(f"media URL redirects more than {policy.max_redirects} times.")


@dataclass(frozen=True, slots=True)
class _Redirect:
    location: str


@dataclass(frozen=True, slots=True)
class _Target:
    """The parts of a URL that is fit to be asked for."""

    is_tls: bool
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, url: str) -> _Target:
        # urlsplit drops some control characters in silence, so they are refused before it.
        if any(ord(char) <= 32 or ord(char) == 127 for char in url):
            raise InvalidMedia("media URL is not valid: it holds spaces or control characters.")
        try:
            parts = urlsplit(url)
            port = parts.port
            host = (parts.hostname or "").encode("idna").decode()
        except ValueError as error:
            raise InvalidMedia("media URL is not valid: it cannot be parsed.") from error
        if parts.scheme not in ("http", "https") or not host:
            raise InvalidMedia("media URL is not valid: it must be http://host/... or https://host/... .")
        if parts.username is not None or parts.password is not None:
            raise InvalidMedia("media URL is not valid: it must not hold a user name or a password.")
        is_tls = parts.scheme == "https"
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        query = "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?") if parts.query else ""
        return cls(is_tls, host, port or (443 if is_tls else 80), path + query)


def _get(target: _Target, deadline: float, policy: MediaPolicy) -> bytes | _Redirect:
    sock = _connect(target, deadline, policy)
    try:
        connection = _connection(target)
        connection.sock = _DeadlineSocket(sock, deadline, policy.read_timeout_s)
        headers = {
            "Accept": "image/*, video/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
            "User-Agent": "roost",
        }
        connection.request("GET", target.path, headers=headers)
        with connection.getresponse() as response:
            location = response.headers.get("Location")
            if response.status in _REDIRECTS and location:
                return _Redirect(location)
            return _read_body(response, target, policy)
    finally:
        sock.close()


def _connection(target: _Target) -> http.client.HTTPConnection:
    connection: http.client.HTTPConnection
    if target.is_tls:
        connection = http.client.HTTPSConnection(target.host, target.port, context=_tls_context())
    else:
        connection = http.client.HTTPConnection(target.host, target.port)
    connection.auto_open = 0  # it may use the checked socket and never open one of its own
    return connection


def _connect(target: _Target, deadline: float, policy: MediaPolicy) -> socket.socket:
    failure: OSError = TimeoutError("no time left to connect")
    for endpoint in resolve(target.host, target.port, policy):
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            break
        try:
            return _dial(endpoint, target, min(policy.connect_timeout_s, remaining_s))
        except OSError as error:
            failure = error
    raise failure


def _dial(endpoint: Endpoint, target: _Target, timeout_s: float) -> socket.socket:
    sock = socket.socket(endpoint.family, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect((endpoint.address, endpoint.port))
        return _tls_context().wrap_socket(sock, server_hostname=target.host) if target.is_tls else sock
    except BaseException:
        sock.close()
        raise


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _read_body(response: http.client.HTTPResponse, target: _Target, policy: MediaPolicy) -> bytes:
    if response.status != 200:
        raise InvalidMedia(f"media host {target.host!r} answered {response.status}, not 200.")
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise InvalidMedia(f"media host {target.host!r} compresses its answer, which is not read.")
    declared = response.length
    policy.check_size(declared or 0, "media at the URL")
    chunks: list[bytes] = []
    received = 0
    while chunk := response.read1(_READ_BYTES):
        received += len(chunk)
        policy.check_size(received, "media at the URL")
        chunks.append(chunk)
    if declared is not None and received < declared:
        raise InvalidMedia(f"media host {target.host!r} cut its answer off.")
    return b"".join(chunks)


class _DeadlineSocket:
    """The part of a socket that `http.client` uses; every wait ends at the deadline."""

    def __init__(self, sock: socket.socket, deadline: float, read_timeout_s: float) -> None:
        self._sock = sock
        self._deadline = deadline
        self._read_timeout_s = read_timeout_s

    def sendall(self, data: Any) -> None:
        self._limit()
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self), _READ_BYTES)

    def recv_into(self, buffer: Any) -> int:
        self._limit()
        return self._sock.recv_into(buffer)

    def close(self) -> None:
        """Left to the owner of the socket: http.client closes it before the body is read."""

    def _limit(self) -> None:
        remaining_s = self._deadline - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError("the total time is used up")
        self._sock.settimeout(min(self._read_timeout_s, remaining_s))


class _DeadlineReader(io.RawIOBase):
    def __init__(self, sock: _DeadlineSocket) -> None:
        self._sock = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._sock.recv_into(buffer)
