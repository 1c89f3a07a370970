"""Runs the lifespan of an ASGI app, as a server would."""

from __future__ import annotations

import asyncio
from typing import Any

from roost.asgi.types import ASGIApp, Message


class LifespanFailed(Exception):
    """The app reported that its start or its end failed, without raising anything itself."""


class Lifespan:
    """The lifespan of one app: `start` before its first request, `stop` after its last.

    Attributes:
        state: What the app wants to find in the state of each request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._from_app: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the app up. An app that has no lifespan is fine as it is.

        Raises:
            Exception: what the app raised in its start-up.
            LifespanFailed: when it reported a failure and raised nothing.
        """
        self._task = asyncio.create_task(self._run())
        answer = await self._ask("lifespan.startup")
        if answer is None:
            self._task = None
        elif answer["type"] == "lifespan.startup.failed":
            await self._raise_failure(answer)

    async def stop(self) -> None:
        """Shut the app down; nothing happens when it was not started.

        Raises:
            Exception: what the app raised in its shutdown.
            LifespanFailed: when it reported a failure and raised nothing.
        """
        if self._task is None:
            return
        answer = await self._ask("lifespan.shutdown")
        if answer is not None and answer["type"] == "lifespan.shutdown.failed":
            await self._raise_failure(answer)
        self._task = None

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        await self._app(scope, self._to_app.get, self._from_app.put)

    async def _ask(self, kind: str) -> Message | None:
        """Send a message and wait for the answer; None when the app ended without one."""
        assert self._task is not None
        await self._to_app.put({"type": kind})
        answer = asyncio.create_task(self._from_app.get())
        await asyncio.wait({answer, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        answer.cancel()
        return None if self._from_app.empty() else self._from_app.get_nowait()

    async def _raise_failure(self, answer: Message) -> None:
        task, self._task = self._task, None
        assert task is not None
        await asyncio.wait({task})
        error = None if task.cancelled() else task.exception()
        raise error or LifespanFailed(answer.get("message") or answer["type"])
