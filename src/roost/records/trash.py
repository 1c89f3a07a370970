"""What of the storage lies in the trash, and since when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import BigInteger, String, delete, insert, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from roost.records.base import Base

_MOST_AT_ONCE = 500  # databases bound the variables of a statement
_ONLY = 1


class TrashRow(Base):
    """An object that was moved to the trash; written before the move.

    Attributes:
        path: Where the object belongs.
        moved_at: When it was certainly there; None while the move is under way.
    """

    __tablename__ = "trash"

    path: Mapped[str] = mapped_column(String(255), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger)
    moved_at: Mapped[datetime | None]


class EmptyingRow(Base):
    """How often it was decided what of the trash to delete. There is one row at most."""

    __tablename__ = "emptyings"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    count: Mapped[int] = mapped_column(BigInteger)


def note_moving(session: Session, sizes: Iterable[tuple[str, int]]) -> None:
    """Write down that these objects (path, bytes) are about to be moved."""
    rows = [{"path": path, "size": size, "moved_at": None} for path, size in sizes]
    forget_trash(session, [str(row["path"]) for row in rows])
    if rows:
        session.execute(insert(TrashRow), rows)


def note_moved(session: Session, paths: Sequence[str], at: datetime) -> None:
    """Write down that these are in the trash now."""
    for some in _slices(paths):
        session.execute(update(TrashRow).where(TrashRow.path.in_(some)).values(moved_at=at))


def settle_moves(session: Session, at: datetime) -> None:
    """What a run that died has begun to move counts as moved now."""
    session.execute(update(TrashRow).where(TrashRow.moved_at.is_(None)).values(moved_at=at))


def read_trash(session: Session) -> dict[str, datetime]:
    """Since when each object lies in the trash, by its path; without those that are being moved."""
    rows = session.execute(select(TrashRow.path, TrashRow.moved_at))
    return {path: moved_at for path, moved_at in rows if moved_at is not None}


def forget_trash(session: Session, paths: Sequence[str]) -> None:
    """Drop the rows of these objects."""
    for some in _slices(paths):
        session.execute(delete(TrashRow).where(TrashRow.path.in_(some)))


def count_emptyings(session: Session) -> int:
    """How often it was decided what of the trash to delete."""
    row = session.get(EmptyingRow, _ONLY)
    return row.count if row is not None else 0


def note_emptying(session: Session) -> None:
    """From here on the trash may be emptied of what nothing in the records refers to."""
    session.merge(EmptyingRow(id=_ONLY, count=count_emptyings(session) + 1))


def _slices(paths: Sequence[str]) -> Iterable[Sequence[str]]:
    return (paths[start : start + _MOST_AT_ONCE] for start in range(0, len(paths), _MOST_AT_ONCE))
