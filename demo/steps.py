"""Prints each step of the demo and how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

console = Console(highlight=False, soft_wrap=True)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say `what`, run the body, say how long it took."""
    console.print(f"[bold]==> {what}[/bold]")
    started = time.monotonic()
    yield
    console.print(f"    [dim]{time.monotonic() - started:.1f} s[/dim]")


def show(text: str) -> None:
    """One line of a step's result."""
    console.print(f"    {text}", markup=False)
