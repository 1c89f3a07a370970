from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from roost.storage.aws_signature import bind_bytes, put_headers, resign

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
# The example of Amazon's own description of signed URLs.
URL = (
    "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
    "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
)
SIGNATURE = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
ONE, OTHER = "1" * 64, "2" * 64


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_the_published_example() -> None:
    assert resign("GET", URL, SECRET, {}) == f"{URL}&X-Amz-Signature={SIGNATURE}"


def test_an_old_signature_does_not_matter() -> None:
    signed = resign("GET", f"{URL}&X-Amz-Signature=0123", SECRET, {})
    assert query(signed)["X-Amz-Signature"] == SIGNATURE


def test_the_bytes_are_part_of_what_is_signed() -> None:
    one, other = (query(bind_bytes(URL, SECRET, sha256)) for sha256 in (ONE, OTHER))
    assert one["X-Amz-SignedHeaders"] == "host;x-amz-checksum-sha256"
    assert one.pop("X-Amz-Signature") != other.pop("X-Amz-Signature")
    assert one == other == {**query(URL), "X-Amz-SignedHeaders": "host;x-amz-checksum-sha256"}
    assert put_headers(ONE) == {"x-amz-checksum-sha256": "ERERERERERERERERERERERERERERERERERERERERERE="}


def test_the_secret_is_not_in_it_and_a_session_stays() -> None:
    url = bind_bytes(f"{URL}&X-Amz-Security-Token=a%2Fb%3D%3D", SECRET, ONE)
    assert SECRET not in url
    assert query(url)["X-Amz-Security-Token"] == "a/b=="
    assert urlsplit(url).path == "/test.txt"
