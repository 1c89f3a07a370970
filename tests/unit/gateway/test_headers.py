"""What of a request's head goes on to the upstream."""

from __future__ import annotations

import pytest

from roost.asgi.types import Header
from roost.errors import BadRequest
from roost.gateway.headers import request_head, request_line

FIRST = request_line("POST", "http://127.0.0.1:8000/r/a/b/c", "/v1/inference/detection")


def lines(headers: list[Header], length: int | None = 5) -> list[bytes]:
    return request_head(FIRST, headers, "id1", length).split(b"\r\n")


def test_the_first_lines_name_target_and_host() -> None:
    assert FIRST == b"POST /r/a/b/c/v1/inference/detection HTTP/1.1\r\nhost: 127.0.0.1:8000\r\n"


def test_credentials_in_a_url_are_not_sent_as_host() -> None:
    assert b"host: h:1\r\n" in request_line("GET", "http://user:pw@h:1", "/x")


def test_end_to_end_headers_pass_and_hop_by_hop_ones_do_not() -> None:
    sent: list[Header] = [
        (b"host", b"gateway"),
        (b"content-type", b"application/json"),
        (b"x-api-key", b"k"),
        (b"connection", b"keep-alive, X-Trace"),
        (b"x-trace", b"1"),
        (b"te", b"trailers"),
        (b"transfer-encoding", b"chunked"),
        (b"content-length", b"99"),
        (b"expect", b"100-continue"),
        (b"x-request-id", b"theirs"),
    ]
    assert lines(sent)[2:] == [
        b"content-type: application/json",
        b"x-api-key: k",
        b"x-request-id: id1",
        b"content-length: 5",
        b"",
        b"",
    ]


def test_a_body_of_unknown_length_is_chunked() -> None:
    assert lines([], None)[2:] == [b"x-request-id: id1", b"transfer-encoding: chunked", b"", b""]


@pytest.mark.parametrize("value", [b"a\r\nx-evil: 1", b"a\nb", b"a\rb"])
def test_a_line_break_in_a_header_is_refused(value: bytes) -> None:
    with pytest.raises(BadRequest, match="line break"):
        lines([(b"x-a", value)])
