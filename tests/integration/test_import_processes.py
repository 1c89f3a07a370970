"""Imports in several processes: the source is called once; who dies or is interrupted holds up nobody."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from roost.keys import ModelKey
from roost.testing.fake_hub import FakeHub, HubRepository
from roost.testing.in_process import InProcessServer
from roost.testing.led_process import LedProcess
from roost.testing.loopback import Loopback
from roost.testing.server_process import plain_environment, wait_until

KEY = ModelKey("f", "s", "imported")
SCRIPT = Path(__file__).with_name("importing.py")
END_S = 60.0


class Place:
    """A server on loopback and what importers need to reach it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.server = InProcessServer(folder)
        stack.callback(self.server.close)
        loopback = stack.enter_context(Loopback(self.server))
        self.environment = plain_environment(
            ROOST_URL=loopback.url,
            ROOST_CACHE_DIR=str(folder / "cache"),
            PYTHONPATH=str(folder / "own"),
            PYTHONDONTWRITEBYTECODE="1",
        )
        self._stack = stack

    def start(self, *arguments: str) -> LedProcess:
        importer = LedProcess(arguments, self.environment)
        self._stack.callback(importer.end)
        return importer

    def begun(self, weights: Path) -> LedProcess:
        """An importer that is about to ask for the model."""
        importer = self.start(str(SCRIPT), str(weights))
        assert importer.says() == "begun"
        importer.go_on()
        return importer


@pytest.fixture
def place(tmp_path: Path, servable: Callable[..., type]) -> Iterator[Place]:
    servable()
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


def test_of_two_at_once_one_calls_its_source(place: Place, weights: Path) -> None:
    importers = [place.begun(weights) for _ in range(2)]
    said = {importer: importer.says() for importer in importers}
    (winner,) = [importer for importer, words in said.items() if words == "fetching"]
    (loser,) = [importer for importer in importers if importer is not winner]
    assert said[loser].startswith("ModelBusy 'f/s/imported' is being imported by '")
    assert f"(pid {winner.process.pid})" in said[loser]
    winner.go_on()
    assert winner.says() == "ready"
    late = place.begun(weights)
    assert late.says() == "ready"


def test_a_killed_importer_loses_its_claim(place: Place, weights: Path) -> None:
    killed = place.begun(weights)
    assert killed.says() == "fetching"
    killed.end()
    assert place.server.models.get(KEY).phase == "uploading"
    place.server.clock.advance(31)
    assert place.server.models.get(KEY).phase == "broken"
    following = place.begun(weights)
    assert following.says() == "fetching"
    following.go_on()
    assert following.says() == "ready"


def test_ctrl_c_in_the_middle_of_a_download(place: Place) -> None:
    pytest.importorskip("huggingface_hub")
    hub = FakeHub(HubRepository({"model.bin": random.Random(0).randbytes(3_000_000)}, large={"model.bin"}))
    stall = hub.repository.stalls["model.bin"] = threading.Event()
    hub.start()
    place.environment["HF_ENDPOINT"] = hub.url
    imports = place.folder / "cache" / "imports"
    try:
        command = place.start("-m", "roost.cli", "import", "hf://acme/tiny", "own_model:Model", "f/s")
        wait_until(
            lambda: any(r.path.startswith("/content") for r in hub.requests), END_S, "it is downloading"
        )
        assert place.server.models.get(KEY).phase == "uploading"
        assert [path for path in imports.iterdir() if path.is_dir()]
        os.kill(command.process.pid, signal.SIGINT)
        assert command.process.wait(END_S) == 130
        entry = place.server.models.get(KEY)
        assert (entry.phase, entry.message) == ("upload_failed", "interrupted")
        assert [path for path in imports.iterdir() if path.is_dir()] == []
    finally:
        stall.set()
        hub.stop()
