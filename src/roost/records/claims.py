"""Who is writing a model right now."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, String, Text, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from roost.contracts.model import ClaimMode
from roost.keys import ModelKey
from roost.records.base import Base


class ClaimRow(Base):
    """The one claim on a model; taking it over replaces the row.

    Attributes:
        token: Proves that the claim is the asker's; no two claims share one.
        writer: Who holds it, for messages.
        expires_at: From then on anybody may take it over, unless it is renewed before.
    """

    __tablename__ = "claims"
    __table_args__ = (
        ForeignKeyConstraint(
            ["family", "suffix", "run_name"],
            ["models.family", "models.suffix", "models.run_name"],
            ondelete="CASCADE",
        ),
    )

    family: Mapped[str] = mapped_column(String(63), primary_key=True)
    suffix: Mapped[str] = mapped_column(String(63), primary_key=True)
    run_name: Mapped[str] = mapped_column(String(63), primary_key=True)
    token: Mapped[str] = mapped_column(String(32))
    mode: Mapped[ClaimMode] = mapped_column(String(16))
    writer: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime]
    expires_at: Mapped[datetime]


def find_claim(session: Session, key: ModelKey) -> ClaimRow | None:
    """The claim on this model, also a lapsed one."""
    return session.get(ClaimRow, (key.family, key.suffix, key.run_name))


def put_claim(
    session: Session,
    key: ModelKey,
    *,
    token: str,
    mode: ClaimMode,
    writer: str,
    now: datetime,
    expires_at: datetime,
) -> ClaimRow:
    """Give the claim on this model to `writer`, in place of whoever had it."""
    return session.merge(
        ClaimRow(
            family=key.family,
            suffix=key.suffix,
            run_name=key.run_name,
            token=token,
            mode=mode,
            writer=writer,
            started_at=now,
            expires_at=expires_at,
        )
    )


def find_oldest_claim(session: Session, now: datetime) -> datetime | None:
    """When the oldest claim that has not lapsed began; None when there is none."""
    return session.scalar(select(func.min(ClaimRow.started_at)).where(ClaimRow.expires_at > now))
