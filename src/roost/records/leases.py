"""Named leases: of several servers, the one that may do a job."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, Session, mapped_column

from roost.records.base import Base


class LeaseRow(Base):
    """Who holds a lease and until when."""

    __tablename__ = "leases"

    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    holder: Mapped[str] = mapped_column(Text)
    expires_at: Mapped[datetime]


def take_lease(session: Session, name: str, holder: str, *, now: datetime, lease_s: float) -> bool:
    """Take, renew or take over the lease; False while another holder's has not run out.

    Call it in a write session: of two takers at once, one gets it.
    """
    row = session.get(LeaseRow, name)
    if row is not None and row.holder != holder and row.expires_at > now:
        return False
    session.merge(LeaseRow(name=name, holder=holder, expires_at=now + timedelta(seconds=lease_s)))
    return True


def find_holder(session: Session, name: str, *, now: datetime) -> str | None:
    """Who holds the lease at `now`."""
    row = session.get(LeaseRow, name)
    return row.holder if row is not None and row.expires_at > now else None


def find_expiry(session: Session, name: str) -> datetime | None:
    """When the lease runs out, or ran out; None when nobody holds it."""
    row = session.get(LeaseRow, name)
    return row.expires_at if row is not None else None


def renewed_by(session: Session, name: str, holder: str) -> bool:
    """Whether `holder` was the last to take or renew the lease; also when it has run out since."""
    row = session.get(LeaseRow, name)
    return row is not None and row.holder == holder


def release_lease(session: Session, name: str, holder: str) -> None:
    """Give the lease back, when it is still `holder`'s, so that another may take it at once."""
    row = session.get(LeaseRow, name)
    if row is not None and row.holder == holder:
        session.delete(row)
