"""Writers that claim, renew, commit, abandon and delete the same keys at once; one of them is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.contract.records.random_writer import find_mixture

from roost.contracts.model import SavedModel
from roost.records.database import Database
from roost.services.models import Models
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore

SCRIPT = Path(__file__).with_name("random_writer.py")
WRITERS = 3
STEPS = 80
LOOK_EVERY_S = 0.02
SEED = 20261130


class Crowd:
    """The writers' processes, and what they say."""

    def __init__(self, url: str, folder: Path, stack: ExitStack) -> None:
        self._out = [folder / f"w{number}.out" for number in range(WRITERS)]
        self.processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, SCRIPT, url, folder / "storage", f"w{number}", str(SEED), str(STEPS)],
                    stdin=subprocess.PIPE,
                    stdout=stack.enter_context(out.open("wb")),
                )
            )
            for number, out in enumerate(self._out)
        ]
        for process in self.processes:
            stack.callback(process.kill)

    def facts(self, number: int) -> list[dict[str, str]]:
        """What a writer has said; the line it was killed in is left out."""
        lines = self._out[number].read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def until_all(self, are: str) -> Iterator[None]:
        """Again and again until every writer is `ready`, or has `ended`."""
        for number, process in enumerate(self.processes):
            while process.poll() is None and not (are == "ready" and self.facts(number)):
                yield
                try:
                    process.wait(LOOK_EVERY_S)
                except subprocess.TimeoutExpired:
                    continue

    def go(self) -> None:
        """Let all begin."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()


@pytest.fixture
def crowd(records: Database, tmp_path: Path) -> Iterator[Crowd]:
    with ExitStack() as stack:
        yield Crowd(records.url, tmp_path, stack)


def test_each_entry_is_whole_at_every_moment_and_of_one_writer(crowd: Crowd, records: Database) -> None:
    models = Models(records, MemoryStore(), FakeClock())
    for _ in crowd.until_all("ready"):
        pass
    crowd.go()
    killed = crowd.processes[0]
    for _ in crowd.until_all("ended"):
        whole(models)
        if len(crowd.facts(0)) > 5:
            killed.kill()
    codes = [process.wait(120) for process in crowd.processes]
    assert codes[1:] == [0] * (WRITERS - 1)

    facts = [fact for number in range(WRITERS) for fact in crowd.facts(number)]
    committed = {(fact["key"], fact["committed"]) for fact in facts if "committed" in fact}
    assert len(committed) > WRITERS
    assert [fact for fact in facts if "deleted" in fact] != []
    # Of the one that was killed, a commit may have happened and not been told.
    shown = {(str(saved.key), saved.config["attempt"]) for saved in whole(models)}
    assert {pair for pair in shown - committed if not pair[1].startswith("w0-")} == set()


def whole(models: Models) -> list[SavedModel]:
    """The finished entries; none may hold parts of two attempts."""
    ready = models.list(phase="ready").items
    assert [mixture for saved in ready if (mixture := find_mixture(saved)) is not None] == []
    return ready
