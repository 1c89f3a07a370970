"""Which headers are passed on, and the head of a forwarded request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from roost.asgi.types import Header
from roost.errors import BadRequest

# Concern one hop only (RFC 9110, 7.6.1).
HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
# Those, and what is written anew here.
_DROPPED: Final = HOP_BY_HOP | {
    b"host",
    b"content-length",
    b"expect",
    b"x-request-id",
    b"proxy-authorization",
}
_PLAIN_CONNECTION: Final = frozenset((b"keep-alive", b"close", b"Keep-Alive", b"Close"))


def request_line(method: str, url: str, path: str) -> bytes:
    """The first two lines of a request for `path` below the deployment's own `url`: target and `Host`."""
    parts = urlsplit(url)
    target = f"{parts.path.rstrip('/')}{path}"
    host = parts.netloc.rpartition("@")[2]
    return f"{method} {target} HTTP/1.1\r\nhost: {host}\r\n".encode("ascii")


def request_head(first: bytes, headers: Iterable[Header], request_id: str, length: int | None) -> bytes:
    """The whole head: `first` (of `request_line`), the caller's end-to-end headers, our own.

    Args:
        headers: Of the caller, names in lower case.
        length: Bytes of the body; None sends it chunked.

    Raises:
        BadRequest: when a header contains a line break.
    """
    lines = [first]
    named: frozenset[bytes] = frozenset()
    for name, value in headers:
        if name not in _DROPPED:
            lines.append(b"%b: %b\r\n" % (name, value))
        elif name == b"connection" and value not in _PLAIN_CONNECTION:
            named |= {token.strip().lower() for token in value.split(b",")}
    if named:
        lines = [line for line in lines if line is first or line.partition(b":")[0] not in named]
    count = len(lines) + 1  # `first` has two lines
    if length is None:
        lines.append(b"x-request-id: %b\r\ntransfer-encoding: chunked\r\n\r\n" % request_id.encode("ascii"))
    else:
        lines.append(b"x-request-id: %b\r\ncontent-length: %d\r\n\r\n" % (request_id.encode("ascii"), length))
    head = b"".join(lines)
    if head.count(b"\n") != count + 3 or head.count(b"\r") != count + 3:
        raise BadRequest("A header of the request contains a line break.")
    return head
