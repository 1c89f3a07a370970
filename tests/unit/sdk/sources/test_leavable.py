"""Parallel work that is left when it is not wanted any more."""

from __future__ import annotations

import threading

import pytest

from roost.sdk.sources.leavable import run_or_leave


def test_every_item_is_done_once() -> None:
    done: list[int] = []
    run_or_leave(done.append, range(50), workers=4, stopped=threading.Event())
    assert sorted(done) == list(range(50))


def test_an_error_is_raised_though_other_work_never_ends() -> None:
    stopped, never, stuck = threading.Event(), threading.Event(), threading.Event()

    def work(item: int) -> None:
        if item == 0:
            stuck.set()
            never.wait()
        stuck.wait()
        raise ValueError(item)

    with pytest.raises(ValueError, match="1"):
        run_or_leave(work, [0, 1, 2, 3], workers=2, stopped=stopped)
    assert stopped.is_set()
    never.set()


def test_what_was_not_begun_is_dropped() -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        run_or_leave(work, range(100), workers=1, stopped=threading.Event())
    assert begun == [0]
