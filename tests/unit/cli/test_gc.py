"""`roost gc`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer

from roost.cli.gc import read_duration
from roost.storage.artifacts import artifact_path, sha256
from roost.storage.store import ObjectStore
from roost.testing.in_process import URL, InProcessServer

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
CHUNK = artifact_path("chunks", sha256(b"x"))


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore.open((tmp_path / "storage").as_uri())


@pytest.fixture
def server(
    tmp_path: Path, objects: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InProcessServer]:
    server = InProcessServer(tmp_path, objects=objects)
    monkeypatch.setenv("ROOST_URL", URL)
    monkeypatch.setattr("roost.sdk.connection._client", lambda url, key: server.client(api_key=key))
    objects.put(CHUNK, b"x" * 2048)
    server.clock.advance((datetime.now(UTC) - server.clock.now()).total_seconds() + 5)
    yield server
    server.close()


def test_a_table_of_what_and_why(cli: Cli, server: InProcessServer, objects: ObjectStore) -> None:
    ran = cli("gc")
    assert (ran.code, ran.err) == (0, "")
    header, row, summary = [line.rstrip() for line in ran.out.splitlines()]
    assert header.split() == ["WHAT", "ACTION", "OBJECTS", "SIZE", "WHY"]
    assert row.split() == ["chunks", "kept", "1", "2.0", "KiB", "younger", "than", "the", "grace"]
    assert summary == ("0 objects (0 B) moved to the trash, 0 (0 B) deleted. Grace: 24h.")
    server.clock.advance(86_400)
    row = cli("gc").out.splitlines()[1]
    assert row.split()[:2] == ["chunks", "moved"]
    assert row.endswith("nothing refers to it")
    assert objects.exists(f"trash/{CHUNK}")


def test_a_dry_run_says_what_would_be(cli: Cli, server: InProcessServer, objects: ObjectStore) -> None:
    out = cli("gc", "--dry-run", "--grace", "0s").out
    assert "to the trash" in out
    assert "to delete" in out
    assert out.splitlines()[-1] == (
        "1 objects (2.0 KiB) would be moved to the trash, 1 (2.0 KiB) would be deleted. Grace: 0s."
    )
    assert objects.exists(CHUNK)


def test_json(cli: Cli, server: InProcessServer) -> None:
    assert cli("gc", "--grace", "0s", "--json").json == {
        "dryRun": False,
        "graceS": 0.0,
        "lines": [
            {
                "kind": "chunks",
                "action": "moved",
                "reason": "nothing refers to it",
                "count": 1,
                "sizeBytes": 2048,
            },
            {
                "kind": "chunks",
                "action": "freed",
                "reason": "in the trash for the grace",
                "count": 1,
                "sizeBytes": 2048,
            },
        ],
        "notes": [],
    }
    assert cli("gc").out.splitlines()[0] == "Nothing is stored."


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("30m", 1800), ("24h", 86_400), ("1.5d", 129_600), ("90s", 90)]
)
def test_durations(text: str, seconds: float) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "0", "h", "-1h", "1 h", "1w", "1h30m", "nan", "inf", "1e3s", "٣s", "1h\n"]
)
def test_other_durations_are_a_usage_error(cli: Cli, server: InProcessServer, text: str) -> None:
    with pytest.raises(typer.BadParameter):
        read_duration(text)
    assert cli("gc", f"--grace={text}").code == 2
    assert server.requests == []


def test_a_grace_of_a_thousand_years_is_refused(cli: Cli, server: InProcessServer) -> None:
    ran = cli("gc", "--grace", "365000d")
    assert ran.code == 1
    assert "grace_s" in ran.err
