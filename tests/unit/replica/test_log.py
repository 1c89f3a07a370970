"""How a replica's log reads."""

from __future__ import annotations

import logging

from roost.asgi.request_id import current
from roost.replica.log import ReplicaLog


class Kept(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += self.format(record).splitlines()


def logged() -> list[str]:
    """The lines of an error that was logged with its traceback."""
    kept = Kept()
    log = logging.Logger("roost.replica.test")
    log.addHandler(ReplicaLog([kept]))
    try:
        raise ValueError("no such class: 91")
    except ValueError:
        log.exception("the model %s raised in predict", "f/s/r")
    return kept.lines


def test_the_traceback_is_lines_of_text_and_is_there_once() -> None:
    lines = logged()
    assert lines[0] == "the model f/s/r raised in predict"
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: no such class: 91"
    assert sum("Traceback" in line for line in lines) == 1


def test_it_is_found_by_the_request_id() -> None:
    token = current.set("r-17")
    try:
        assert logged()[0] == "request r-17: the model f/s/r raised in predict"
    finally:
        current.reset(token)
