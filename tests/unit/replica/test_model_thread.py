from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from roost.asgi.request_id import current, current_request_id
from roost.replica.model_thread import ModelThread


@pytest.fixture
def thread() -> Iterator[ModelThread]:
    made = ModelThread("test")
    yield made
    made.close()


def test_returns_what_the_work_returned(thread: ModelThread) -> None:
    assert asyncio.run(thread.run(lambda: 7)) == 7


def test_raises_what_the_work_raised(thread: ModelThread) -> None:
    def fail() -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        asyncio.run(thread.run(fail))
    assert asyncio.run(thread.run(lambda: 1)) == 1


def test_survives_work_that_asks_the_process_to_exit(thread: ModelThread) -> None:
    async def ask() -> str:
        future = asyncio.ensure_future(thread.run(lambda: exec("raise GeneratorExit('out')")))
        await asyncio.wait({future})
        return type(future.exception()).__name__

    assert asyncio.run(ask()) == "GeneratorExit"
    assert thread.is_alive


def test_all_work_runs_in_one_thread_in_order(thread: ModelThread) -> None:
    ran: list[tuple[int, int]] = []

    def note(number: int) -> None:
        ran.append((number, threading.get_ident()))

    async def ask() -> None:
        await asyncio.gather(*(thread.run(partial(note, number)) for number in range(20)))

    asyncio.run(ask())
    assert [number for number, _ in ran] == list(range(20))
    assert len({ident for _, ident in ran}) == 1
    assert ran[0][1] != threading.get_ident()


def test_work_of_callers_who_left_is_dropped_before_it_runs(thread: ModelThread) -> None:
    gate, entered, ran = threading.Event(), threading.Event(), []

    def hold() -> None:
        entered.set()
        gate.wait()

    async def ask() -> None:
        holder = asyncio.ensure_future(thread.run(hold))
        await asyncio.to_thread(entered.wait)
        left = [asyncio.ensure_future(thread.run(lambda: ran.append("left"))) for _ in range(100)]
        stayed = asyncio.ensure_future(thread.run(lambda: ran.append("stayed")))
        await asyncio.wait(left, timeout=0)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        gate.set()
        await asyncio.gather(holder, stayed)

    asyncio.run(ask())
    assert ran == ["stayed"]


def test_the_result_of_work_whose_caller_left_while_it_ran_is_dropped(thread: ModelThread) -> None:
    gate, entered = threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        gate.wait()

    async def ask() -> int:
        holder = asyncio.ensure_future(thread.run(hold))
        await asyncio.to_thread(entered.wait)
        holder.cancel()
        await asyncio.gather(holder, return_exceptions=True)
        gate.set()
        return await thread.run(lambda: 5)

    assert asyncio.run(ask()) == 5


def test_says_for_how_long_it_is_busy(thread: ModelThread) -> None:
    gate, entered = threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        gate.wait()

    async def ask() -> tuple[float, float]:
        holder = asyncio.ensure_future(thread.run(hold))
        await asyncio.to_thread(entered.wait)
        busy = thread.busy_s()
        gate.set()
        await holder
        await thread.run(lambda: None)
        return busy, thread.busy_s()

    assert thread.busy_s() == 0.0
    busy, _ = asyncio.run(ask())
    assert busy > 0.0


def test_work_sees_the_request_id_of_its_caller(thread: ModelThread) -> None:
    async def ask() -> str:
        current.set("abc")
        return await thread.run(current_request_id)

    assert asyncio.run(ask()) == "abc"
