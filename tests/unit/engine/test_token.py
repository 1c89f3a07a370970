from __future__ import annotations

from pathlib import Path

import pytest

from roost.engine.token import find_token
from roost.errors import EngineUnavailable


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def write_default(home: Path, text: str) -> None:
    (home / ".ray").mkdir()
    (home / ".ray" / "auth_token").write_text(text)


def test_nothing_gives_none() -> None:
    assert find_token() is None
    assert find_token("  ") is None


def test_each_source_hides_those_after_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_default(tmp_path, "from-default-file\n")
    assert find_token() == "from-default-file"
    (tmp_path / "token").write_text(" from-named-file \n")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    assert find_token() == "from-named-file"
    monkeypatch.setenv("RAY_AUTH_TOKEN", "from-variable")
    assert find_token() == "from-variable"
    assert find_token("explicit") == "explicit"


def test_an_empty_default_file_gives_none(tmp_path: Path) -> None:
    write_default(tmp_path, "\n")
    assert find_token() is None


def test_a_named_file_that_is_missing_or_empty_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        find_token()
    path.write_text("\n")
    with pytest.raises(EngineUnavailable, match="is empty") as caught:
        find_token()
    assert str(path) in caught.value.message
