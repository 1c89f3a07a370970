"""`roost doctor` where no server answers, by what is left in the home."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roost.file_lock import FileLock
from roost.testing.in_process import InProcessServer

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]


@pytest.fixture
def home(server: InProcessServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    server.down = True
    home = tmp_path / "home"
    monkeypatch.setenv("ROOST_HOME", str(home))
    monkeypatch.setenv("ROOST_URL", "http://127.0.0.1:7463")
    monkeypatch.delenv("ROOST_PORT", raising=False)
    return home


def step(cli: Cli) -> str:
    ran = cli("doctor", "--json")
    assert ran.code == 1
    (check,) = [check for check in ran.json["checks"] if check["check"] == "server"]
    assert check["result"] == "failed"
    told: str = check["nextStep"]
    return told


def holding(home: Path, **state: Any) -> FileLock:
    lock = FileLock(home / "server.lock")
    assert lock.take(json.dumps(state))
    return lock


def test_where_there_never_was_one(cli: Cli, home: Path) -> None:
    assert step(cli) == "Start one with `roost up`, or set ROOST_URL to where it runs."
    assert not home.exists()


def test_on_another_port(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_URL", "http://127.0.0.1:9001")
    assert step(cli) == "Start one with `roost up --port 9001`."
    monkeypatch.setenv("ROOST_PORT", "9001")
    assert step(cli) == "Start one with `roost up`, or set ROOST_URL to where it runs."


def test_on_another_machine(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_URL", "http://10.0.0.5:7463")
    holding(home, pid=7, url="http://127.0.0.1:7463")
    assert step(cli) == (
        "Start it on that machine, or set ROOST_URL to where one runs (it is http://10.0.0.5:7463)."
    )


def test_that_was_killed_and_left_its_ray(cli: Cli, home: Path) -> None:
    holding(home, pid=7, url="http://127.0.0.1:7463").release()
    (home / "ray").mkdir()
    (home / "ray" / "cluster.json").write_text("{}")
    assert step(cli) == (
        "Start it again with `roost up`, which takes over what it left of Ray; `roost down` ends that."
    )


def test_that_listens_elsewhere(cli: Cli, home: Path) -> None:
    lock = holding(home, pid=7, url="http://127.0.0.1:9001")
    assert step(cli) == f"The server of {home} listens elsewhere: export ROOST_URL=http://127.0.0.1:9001"
    lock.release()


def test_that_lives_and_does_not_answer(cli: Cli, home: Path) -> None:
    lock = holding(home, pid=7, url="http://127.0.0.1:7463")
    assert step(cli) == (
        f"The server of {home} (pid 7) does not answer: it may be starting; `roost down` ends it."
    )
    (home / "server.lock").write_text("[]")
    assert "(pid ?) does not answer" in step(cli)
    lock.release()


def test_the_disk_is_that_of_the_home(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOST_CACHE_DIR")
    (home / "cache").mkdir(parents=True)
    (disk,) = [check for check in cli("doctor", "--json").json["checks"] if check["check"] == "disk"]
    assert disk["detail"].endswith(f" at {home}/cache")
