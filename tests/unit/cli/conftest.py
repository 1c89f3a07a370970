"""The `roost` command in this process, against the real services."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from roost.cli.main import run
from roost.testing.in_process import URL, InProcessServer


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcessServer]:
    server = InProcessServer(tmp_path)
    monkeypatch.setenv("ROOST_URL", URL)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("roost.sdk.connection._client", lambda url, key: server.client(api_key=key))
    yield server
    server.close()


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["roost", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, said.out, said.err)

    return call
