"""Changes that come close together are PUT together."""

from __future__ import annotations

import pytest

from roost.reconcile.burst import Burst


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def burst(time: Time) -> Burst:
    return Burst(time)


def test_without_a_change_nothing_is_held_back(burst: Burst) -> None:
    assert burst.left_s() == 0


def test_one_change_waits_for_a_short_quiet(time: Time, burst: Burst) -> None:
    burst.change()
    assert burst.left_s() == pytest.approx(0.05)
    time.now += 0.04
    assert burst.left_s() == pytest.approx(0.01)
    time.now += 0.02
    assert burst.left_s() == 0


def test_each_further_change_prolongs_it_but_not_for_ever(time: Time, burst: Burst) -> None:
    held_s = []
    for _ in range(60):
        burst.change()
        held_s.append(burst.left_s())
        time.now += 0.04
    assert held_s[:49] == [pytest.approx(0.05)] * 49
    assert 0 in held_s[49:52]


def test_changes_that_needed_no_put_are_of_another_burst(time: Time, burst: Burst) -> None:
    burst.change()
    time.now += 5
    burst.change()
    assert burst.left_s() == pytest.approx(0.05)


def test_after_it_was_let_go_another_begins(time: Time, burst: Burst) -> None:
    burst.change()
    time.now += 5
    assert burst.left_s() == 0
    burst.change()
    assert burst.left_s() == pytest.approx(0.05)
