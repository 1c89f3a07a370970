"""URLs that are refused before any connection is made."""

from __future__ import annotations

import pytest

from roost.capabilities import MediaPolicy, load_image
from roost.errors import InvalidMedia


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "https:///a.png",
        "http:a.png",
        "http:/127.0.0.1/a.png",
        "http://:80/",
        "http://example.org:port/",
        "http://example.org:99999/",
        "http://[::1/a.png",
        "http://user@example.org/",
        "http://user:pass@example.org/",
        "http://example.org\\@127.0.0.1/",
        "http://exa mple.org/",
        "http://example.org/a\nHost: x",
        "http://example.org/\r\nX: y",
        "http://example.org/\0",
        "http://\t127.0.0.1/",
        " http://127.0.0.1/",
        f"http://{'a' * 64}.org/",
    ],
)
def test_malformed_urls_are_refused(url: str) -> None:
    with pytest.raises(InvalidMedia, match="media URL is not valid"):
        load_image(url, MediaPolicy())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/a.png",
        "HTTP://127.0.0.1/a.png",
        "https://127.0.0.1/a.png",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://[::1]:8000/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://0/",
        "http://１２７.0.0.1/",
    ],
)
def test_private_hosts_are_refused(url: str) -> None:
    with pytest.raises(InvalidMedia, match="has no address that may be reached"):
        load_image(url, MediaPolicy())
