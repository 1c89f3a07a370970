"""Work ends with the caller it is done for."""

from __future__ import annotations

import asyncio

import pytest

from roost.asgi.body import ClientGone
from roost.asgi.presence import while_present
from roost.asgi.types import Message


class Caller:
    """Leaves when told to."""

    def __init__(self) -> None:
        self.leave = asyncio.Event()

    async def receive(self) -> Message:
        await self.leave.wait()
        return {"type": "http.disconnect"}


def test_work_is_done_while_the_caller_is_there() -> None:
    async def run() -> list[str]:
        done: list[str] = []

        async def work() -> None:
            await asyncio.sleep(0)
            done.append("done")

        await while_present(Caller().receive, work())
        return done

    assert asyncio.run(run()) == ["done"]


def test_what_work_raises_comes_out() -> None:
    async def work() -> None:
        raise KeyError("x")

    async def run() -> None:
        await while_present(Caller().receive, work())

    with pytest.raises(KeyError):
        asyncio.run(run())


@pytest.mark.parametrize("how", ["leaves", "is cancelled"])
def test_work_has_ended_when_its_caller_is_gone(how: str) -> None:
    async def run() -> list[str]:
        caller, begun, steps = Caller(), asyncio.Event(), []

        async def work() -> None:
            try:
                begun.set()
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                steps.append("closed")

        request = asyncio.create_task(while_present(caller.receive, work()))
        await begun.wait()
        if how == "leaves":
            caller.leave.set()
        else:
            request.cancel()
        with pytest.raises((ClientGone, asyncio.CancelledError)) as caught:
            await request
        steps.append(caught.type.__name__)
        return steps

    wanted = {"leaves": "ClientGone", "is cancelled": "CancelledError"}[how]
    assert asyncio.run(run()) == ["closed", wanted]
