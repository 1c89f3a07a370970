"""Several processes write one model: one wins, files never mix, a killed writer holds up nobody for long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from roost.contracts.model import ClaimRequest
from roost.errors import ModelBusy
from roost.keys import ModelKey
from roost.records.database import Database
from roost.services.clock import SystemClock
from roost.services.model_claims import LEASE_S
from roost.services.models import Models
from roost.storage.artifacts import StoredArtifacts
from roost.storage.download import download_tree
from roost.storage.store import ObjectStore
from roost.testing.fake_clock import FakeClock
from roost.testing.led_process import LedProcess

KEY = ModelKey("yolo", "coco", "run-1")
SCRIPT = Path(__file__).with_name("claims_writer.py")


class Writer(LedProcess):
    """One writer process."""

    def __init__(self, url: str, folder: Path, name: str, last_step: str) -> None:
        super().__init__([str(SCRIPT), url, str(folder), name, last_step])
        self.name = name


class Place:
    """The records and the storage that the writers share, seen from the test."""

    def __init__(self, database: Database, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.database = database
        self.artifacts = StoredArtifacts(ObjectStore.open((folder / "storage").as_uri()))
        self._stack = stack

    def start(self, *names: str, last_step: str = "commit") -> list[Writer]:
        """Writers that are ready to begin."""
        writers = [Writer(self.database.url, self.folder, name, last_step) for name in names]
        for writer in writers:
            self._stack.callback(writer.end)
        assert [writer.says() for writer in writers] == ["ready"] * len(names)
        return writers

    def models(self, *, later_s: float = 0) -> Models:
        """The registry as a server sees it whose clock is ahead."""
        if later_s == 0:
            return Models(self.database, self.artifacts, SystemClock())
        clock = FakeClock(datetime.now(UTC) + timedelta(seconds=later_s))
        return Models(self.database, self.artifacts, clock)

    def assert_whole(self, writer: str, target: str) -> None:
        """The entry and every file of its weights are this writer's."""
        entry = self.models().get(KEY)
        assert entry.phase == "ready"
        assert entry.config == {"writer": writer}
        tree = self.folder / target
        download_tree(entry.digest, self.artifacts, tree)
        contents = {
            str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*") if path.is_file()
        }
        assert contents == {path: f"{path} of {writer}" for path in ("a.bin", "deep/b.bin", "deep/er/c.bin")}


@pytest.fixture
def place(records: Database, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(records, tmp_path, stack)


def test_of_several_writers_at_once_one_wins(place: Place) -> None:
    writers = place.start("w0", "w1", "w2", last_step="claim")
    for writer in writers:
        writer.go_on()
    words = {writer.name: writer.says() for writer in writers}
    assert sorted(words.values()) == ["busy", "busy", "claimed"]
    winner = next(writer for writer in writers if words[writer.name] == "claimed")
    assert place.models().get(KEY).phase == "uploading"
    winner.go_on()
    assert winner.says() == "committed"
    place.assert_whole(winner.name, "loaded")


def test_writers_that_follow_each_other_never_mix(place: Place) -> None:
    writers = place.start("w0", "w1", "w2")
    for writer in writers:
        writer.go_on()
    last_words = {}
    for writer in writers:
        words = list(iter(writer.says, ""))
        assert words in (["busy"], ["claimed", "committed"])
        last_words[writer.name] = words[-1]
    assert "committed" in last_words.values()
    shown = place.models().get(KEY).config["writer"]
    assert last_words[shown] == "committed"
    place.assert_whole(shown, "loaded")


def test_a_killed_writer_loses_its_claim_within_a_minute(place: Place) -> None:
    assert LEASE_S < 60
    (killed,) = place.start("killed", last_step="claim")
    killed.go_on()
    assert killed.says() == "claimed"
    killed.end()
    request = ClaimRequest(mode="save", writer="next")
    with pytest.raises(ModelBusy, match="being saved by 'killed'"):
        place.models().claim(KEY, request)
    assert place.models().get(KEY).phase == "uploading"
    later = place.models(later_s=LEASE_S + 1)
    assert later.get(KEY).phase == "broken"
    assert later.list(phase="broken").total == 1
    assert later.claim(KEY, request).token is not None
    assert later.get(KEY).phase == "uploading"


def test_a_killed_writer_of_a_finished_model_leaves_it_whole(place: Place) -> None:
    (first,) = place.start("first")
    first.go_on()
    assert [first.says(), first.says()] == ["claimed", "committed"]
    (killed,) = place.start("killed", last_step="claim")
    killed.go_on()
    assert killed.says() == "claimed"
    killed.end()
    place.assert_whole("first", "loaded")
    assert place.models(later_s=LEASE_S + 1).get_ready(KEY).saved.config == {"writer": "first"}


def test_a_suspended_writer_that_wakes_after_a_takeover_cannot_commit(place: Place) -> None:
    (asleep,) = place.start("asleep", last_step="claim")
    asleep.go_on()
    assert asleep.says() == "claimed"
    asleep.suspend()
    fresh = place.models(later_s=LEASE_S + 1).claim(KEY, ClaimRequest(mode="save", writer="fresh"))
    assert fresh.token is not None
    asleep.go_on()
    asleep.wake()
    assert asleep.says() == "lost"
    assert place.models().get(KEY).phase == "uploading"
    assert place.models().renew(KEY, fresh.token).token == fresh.token


def test_a_killed_write_leaves_the_records_readable_and_writable(place: Place) -> None:
    # kill -9 in the middle of a transaction: what was not committed is dropped, and the lock.
    script = (
        "import sys; from sqlalchemy import text; from roost.records.database import Database\n"
        f"with Database({place.database.url!r}).write() as session:\n"
        "    session.execute(text(\"INSERT INTO leases VALUES ('x', 'me', '2026-01-01')\"))\n"
        "    print('written', flush=True); sys.stdin.readline()\n"
    )
    process = LedProcess(["-c", script])
    try:
        assert process.says() == "written"
    finally:
        process.end()
    assert place.models().claim(KEY, ClaimRequest(mode="save", writer="next")).token is not None
    with place.database.read() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM leases").scalar() == 0
