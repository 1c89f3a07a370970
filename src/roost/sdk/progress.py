"""Progress on stderr for transfers and waits. Silent where nobody looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

BytesProgress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""


def progress_wanted() -> bool:
    """True on a terminal, unless `ROOST_PROGRESS=0`."""
    return sys.stderr.isatty() and os.environ.get("ROOST_PROGRESS", "1") != "0"


@contextmanager
def transfer(label: str) -> Iterator[BytesProgress]:
    """A bar for a transfer; yields the function that moves it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    )
    with _progress(*columns) as progress:
        task = progress.add_task(label, total=None)

        def move(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield move


@contextmanager
def waiting(label: str) -> Iterator[Callable[[str], None]]:
    """A spinner for a wait; yields the function that changes its text."""
    with _progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        task = progress.add_task(label, total=None)
        yield lambda text: progress.update(task, description=text)


def _progress(
    *columns: TextColumn
    | BarColumn
    | DownloadColumn
    | SpinnerColumn
    | TimeElapsedColumn
    | TransferSpeedColumn,
) -> Progress:
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not progress_wanted())
