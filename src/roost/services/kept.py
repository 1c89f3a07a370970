"""Writes records that refer to what is stored, so that it is still stored once they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy.orm import Session

from roost.errors import Unavailable
from roost.records.database import Database
from roost.records.trash import count_emptyings

Found = TypeVar("Found")
Written = TypeVar("Written")

_ATTEMPTS: Final = 10


def write_kept(
    db: Database,
    find: Callable[[], Found],
    write: Callable[[Session, Found], Written],
    *,
    first: tuple[int, Found] | None = None,
) -> Written:
    """Find out what is stored, then write what refers to it: all again when the trash was emptied in between.

    A collection reads the records in the transaction that says the trash is emptied. So what is written after
    it was found either counts for the collection, or is found once more.

    Args:
        find: Looks into storage, or at what the records refer to; outside of any session.
        write: Called in a write session with what was found.
        first: What was found already, after the trash had been emptied so often (`count_emptyings`).

    Raises:
        Unavailable: when the trash is emptied again and again.
    """
    for _ in range(_ATTEMPTS):
        before, found = first or _found(db, find)
        first = None
        with db.write() as session:
            if count_emptyings(session) == before:
                return write(session, found)
    raise Unavailable(
        "Garbage was collected again and again while the records were to be written.", retry_after_s=5
    )


def _found(db: Database, find: Callable[[], Found]) -> tuple[int, Found]:
    with db.read() as session:
        before = count_emptyings(session)
    return before, find()
