"""The thread that runs rounds."""

from __future__ import annotations

import logging
import threading

import pytest

from roost.reconcile.loop import Loop

LONG_S = 60.0


def test_a_wake_begins_a_round_at_once() -> None:
    rounds: list[int] = []
    ran = threading.Semaphore(0)

    def cycle() -> float:
        rounds.append(len(rounds))
        ran.release()
        return LONG_S

    loop = Loop(cycle, name="test", settle_s=0)
    loop.start()
    assert ran.acquire(timeout=LONG_S)
    loop.wake()
    assert ran.acquire(timeout=LONG_S)
    assert loop.stop(LONG_S)
    assert rounds == [0, 1]


def test_a_wake_during_a_round_is_not_lost() -> None:
    ran = threading.Semaphore(0)
    loop: Loop

    def cycle() -> float:
        if ran._value == 0:
            loop.wake()
        ran.release()
        return LONG_S

    loop = Loop(cycle, name="test", settle_s=0)
    loop.start()
    assert ran.acquire(timeout=LONG_S)
    assert ran.acquire(timeout=LONG_S)
    assert loop.stop(LONG_S)


class Burst:
    """Time stands still but for looks at it; before each of the first `wakes` looks the loop is woken."""

    def __init__(self, wakes: int) -> None:
        self.looks = 0
        self.rounds_at: list[int] = []
        self.ran = threading.Semaphore(0)
        self._wakes = wakes
        self.loop = Loop(self._cycle, name="test", settle_s=0, longest_settle_s=10, monotonic=self._monotonic)

    def _monotonic(self) -> float:
        self.looks += 1
        if self.looks <= self._wakes:
            self.loop.wake()
        return self.looks

    def _cycle(self) -> float:
        self.rounds_at.append(self.looks)
        self.ran.release()
        return LONG_S


def rounds_of(burst: Burst) -> list[int]:
    burst.loop.start()
    assert burst.ran.acquire(timeout=LONG_S)
    burst.loop.wake()
    assert burst.ran.acquire(timeout=LONG_S)
    assert burst.loop.stop(LONG_S)
    return burst.rounds_at


def test_a_burst_of_wakes_is_one_round() -> None:
    assert rounds_of(Burst(wakes=5)) == [0, 6]


def test_a_burst_without_end_does_not_hold_a_round_up() -> None:
    assert rounds_of(Burst(wakes=1000))[:2] == [0, 11]


def test_a_round_that_raises_does_not_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    ran = threading.Semaphore(0)

    def cycle() -> float:
        ran.release()
        raise ValueError("first")

    loop = Loop(cycle, name="test", settle_s=0, retry_s=0)
    with caplog.at_level(logging.CRITICAL):
        loop.start()
        assert ran.acquire(timeout=LONG_S)
        assert ran.acquire(timeout=LONG_S)
        assert loop.stop(LONG_S)


def test_stopping_what_never_ran() -> None:
    assert Loop(lambda: LONG_S, name="test").stop()
