"""Flapping is told a few times, then counted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from roost.serving.repeats import Past, counted, find_repeated
from roost.testing.fake_clock import EPOCH

UP = {"phase": "running", "before": "deploying"}
DOWN = {"phase": "deploying", "before": "running"}
NOW = EPOCH + timedelta(hours=10)


def past(*events: tuple[str, float, dict[str, Any]]) -> list[Past]:
    """Kind, seconds ago and data, newest first."""
    return [
        Past(len(events) - index, kind, NOW - timedelta(seconds=ago_s), data)
        for index, (kind, ago_s, data) in enumerate(events)
    ]


def flapping(times: int) -> list[Past]:
    def events() -> Iterator[tuple[str, float, dict[str, Any]]]:
        for index in range(times):
            yield "phase", index * 4 + 2, DOWN
            yield "phase", index * 4 + 4, UP

    return past(*events())


def test_the_first_four_are_written() -> None:
    assert find_repeated("phase", UP, [], NOW) is None
    assert find_repeated("phase", UP, flapping(3), NOW) is None


def test_the_fifth_is_counted_in_the_last_like_it() -> None:
    events = flapping(4)
    found = find_repeated("phase", UP, events, NOW)
    assert found == events[1]
    assert found is not None
    assert counted(found, NOW) == {**UP, "times": 2, "until": "2026-01-01T10:00:00+00:00"}


def test_one_that_counts_others_is_still_like_them() -> None:
    events = flapping(4)
    events[1] = Past(events[1].id, "phase", events[1].at, counted(events[1], NOW))
    found = find_repeated("phase", UP, events, NOW)
    assert found == events[1]
    assert counted(events[1], NOW)["times"] == 3


def test_another_change_is_written() -> None:
    events = flapping(4)
    assert find_repeated("phase", {"phase": "failed", "before": "deploying"}, events, NOW) is None
    assert find_repeated("start_failed", {"failures": 1}, events, NOW) is None


def test_a_wish_begins_the_count_anew() -> None:
    events = flapping(4)
    wish = Past(99, "updated", NOW - timedelta(seconds=1), {"generation": 2})
    assert find_repeated("phase", UP, [wish, *events], NOW) is None


def test_what_is_an_hour_old_counts_no_more() -> None:
    events = past(*[("phase", seconds, UP) for seconds in (10, 20, 30, 3601)])
    assert find_repeated("phase", UP, events, NOW) is None
    events = past(*[("phase", seconds, UP) for seconds in (10, 20, 30, 3600)])
    assert find_repeated("phase", UP, events, NOW) == events[0]
