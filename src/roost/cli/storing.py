"""What a command that stores a model says: when it is done, and when it is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from roost.cli.output import note, print_json, say
from roost.contracts.model import SavedModel
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


def tell(saved: SavedModel, *, as_json: bool) -> None:
    """The entry as JSON; or its key on stdout, and the next step beside it."""
    if as_json:
        print_json(saved)
        return
    say(str(saved.key))
    note(f"It is ready. Deploy it with `roost deploy {saved.key}`.")
