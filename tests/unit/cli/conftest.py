"""The `roost` command in this process, against the real services."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from roost.cli.main import run


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
