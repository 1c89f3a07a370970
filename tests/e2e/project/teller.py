"""A class with endpoints; it knows which of its streams were closed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import roost

BREAKS = "a\u2028b\u2029c\x85d\re\x1cf\ng"


@dataclass
class Greeting:
    text: str
    pid: int


class Teller:
    def __init__(self, key: roost.DeploymentKey) -> None:
        self.word = roost.model_config(key).get("word", "Hello")
        self.left = asyncio.Event()

    @roost.serve.endpoint
    def greet(self, name: str, times: int = 1) -> Greeting:
        return Greeting(", ".join([f"{self.word} {name}"] * times), os.getpid())

    @roost.serve.endpoint
    def fail(self) -> None:
        raise RuntimeError("a secret of the teller")

    @roost.serve.endpoint
    def lines(self, count: int) -> Iterator[str]:
        for number in range(count):
            yield f"{number}{BREAKS}"

    @roost.serve.endpoint(timeout_s=3600)
    async def tell(self) -> AsyncIterator[int]:
        """Never ends by itself, nor by its time-out."""
        try:
            yield 0
            await asyncio.Event().wait()
        finally:
            self.left.set()

    @roost.serve.endpoint(timeout_s=3600)
    async def wait_left(self) -> bool:
        """Answers when the stream of a caller who left was closed."""
        return await self.left.wait()
