from __future__ import annotations

import pytest

from roost.hosts import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", [None, "", "*", "0.0.0.0", "::", "192.0.2.2", "::ffff:192.0.2.2", "ray-head"]
)
def test_not_loopback(host: str | None) -> None:
    assert not is_loopback(host)
