"""The thread that keeps an embedded cluster up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.errors import EngineStartFailed
from roost.reconcile.engine import EngineKeeper

PATIENCE_S = 10.0


class Cluster:
    """A cluster without processes; a test lets it fail or die.

    Attributes:
        steps: What was asked of it, in order.
        failures: Errors of the next starts.
        adoptable: Whether a cluster of an earlier server is there.
        hangs: Whether a start goes on until it is aborted.
    """

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.failures: list[EngineStartFailed] = []
        self.adoptable = False
        self.hangs = False
        self.living = threading.Event()
        self.started = threading.Event()

    @property
    def log_dir(self) -> Path:
        return Path("/logs")

    def adopt(self) -> bool:
        self.steps.append("adopt")
        if self.adoptable:
            self.living.set()
        return self.adoptable

    def start(self, should_abort: Callable[[], bool], on_progress: Callable[[str], None]) -> None:
        self.steps.append("start")
        self.started.set()
        on_progress("Starting Ray")
        if self.failures:
            raise self.failures.pop(0)
        pause = threading.Event()
        while self.hangs:
            if should_abort():
                raise EngineStartFailed("The start of Ray was interrupted.")
            pause.wait(0.001)
        self.living.set()

    def alive(self) -> bool:
        return self.living.is_set()

    def stop(self, *, fast: bool = False) -> None:
        self.steps.append(f"stop fast={fast}")
        self.living.clear()


class Watched:
    """A keeper, and how often it said that Ray is up."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.ready = threading.Semaphore(0)
        self.keeper = EngineKeeper(cluster, self.ready.release)

    def start(self) -> None:
        self.keeper.start()

    def wait_ready(self) -> None:
        assert self.ready.acquire(timeout=PATIENCE_S)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr("roost.reconcile.engine.WATCH_S", 0.001)
    monkeypatch.setattr("roost.reconcile.engine.FIRST_PAUSE_S", 0.001)
    watched = Watched(Cluster())
    yield watched
    watched.cluster.hangs = False
    watched.keeper.stop()


def test_it_starts_in_the_background_and_ends_with_the_server(watched: Watched) -> None:
    assert (watched.keeper.state, watched.keeper.find_log_dir()) == ("starting", None)
    watched.start()
    watched.wait_ready()
    assert (watched.keeper.state, watched.keeper.message) == ("ready", "")
    assert watched.keeper.find_log_dir() == Path("/logs")
    watched.keeper.stop()
    assert watched.keeper.state == "stopped"
    assert watched.cluster.steps == ["adopt", "start", "stop fast=True"]


def test_what_an_earlier_server_left_is_adopted(watched: Watched) -> None:
    watched.cluster.adoptable = True
    watched.start()
    watched.wait_ready()
    assert watched.cluster.steps == ["adopt"]


def test_a_start_that_fails_is_told_and_tried_again(watched: Watched) -> None:
    watched.cluster.failures = [
        EngineStartFailed("No port.", hint="Free one."),
        EngineStartFailed("No disk."),
    ]
    messages: list[str] = []
    keeper = watched.keeper
    failing = watched.cluster.adopt

    def adopt() -> bool:
        messages.append(keeper.message)
        return failing()

    watched.cluster.adopt = adopt  # type: ignore[method-assign]
    watched.start()
    watched.wait_ready()
    assert messages == ["", "No port. Free one.", "No disk."]
    assert watched.cluster.steps == ["adopt", "start"] * 3
    assert keeper.message == ""


def test_a_ray_that_dies_is_started_again(watched: Watched) -> None:
    watched.start()
    watched.wait_ready()
    watched.cluster.hangs = True
    watched.cluster.started.clear()
    watched.cluster.living.clear()
    assert watched.cluster.started.wait(PATIENCE_S)
    assert (watched.keeper.state, watched.keeper.find_log_dir()) == ("starting", None)
    watched.cluster.hangs = False
    watched.wait_ready()
    assert watched.keeper.state == "ready"


def test_a_start_is_interrupted_by_stop(watched: Watched) -> None:
    watched.cluster.hangs = True
    watched.start()
    assert watched.cluster.started.wait(PATIENCE_S)
    watched.keeper.stop()
    assert watched.keeper.state == "stopped"
    assert watched.cluster.steps[-1] == "stop fast=True"
    assert watched.keeper.message == "Starting Ray"


def test_stopping_what_never_started_ends_remains_only(watched: Watched) -> None:
    watched.keeper.stop()
    assert watched.cluster.steps == ["stop fast=True"]
