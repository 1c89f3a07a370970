"""What an interrupted transfer says and leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from roost.cli.output import note
from roost.errors import RoostError


@contextmanager
def resumable(give_up: Callable[[], None] | None = None) -> Iterator[None]:
    """Say at Ctrl-C that a second try sends only the rest; `give_up` removes what no second try takes up."""
    try:
        yield
    except KeyboardInterrupt:
        note("Interrupted. What is stored already is not sent again: run the command again.")
        with suppress(RoostError):
            if give_up is not None:
                give_up()
        raise
