"""What the SDK's and the command's tests share: the real services in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.testing.in_process import URL, InProcessServer


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcessServer]:
    server = InProcessServer(tmp_path)
    monkeypatch.setenv("ROOST_URL", URL)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("roost.sdk.connection._client", lambda url, key: server.client(api_key=key))
    yield server
    server.close()
