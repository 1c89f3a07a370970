"""The rules by which a claim begins, is held and ends; each runs inside the caller's write session."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from roost.contracts.model import Claim, ClaimRequest, CommitRequest
from roost.errors import InvalidName, ModelBusy
from roost.keys import DECLARED, IMPORTED, DeploymentConfig, ModelKey
from roost.records.claims import ClaimRow, find_claim, put_claim
from roost.records.models import ModelRow
from roost.services.model_phases import busy, store_servable, store_settings
from roost.storage.manifest import Manifest

LEASE_S: Final = 30.0
"""Seconds until a claim lapses that is not renewed."""

_MAX_WRITER_LENGTH: Final = 200
_MAX_REASON_LENGTH: Final = 4000


def check_claimable(key: ModelKey, request: ClaimRequest) -> None:
    """Make sure that a caller from outside may write the key in this mode. The server itself
    saves declared models.

    Raises:
        InvalidName: for a save under a reserved run name.
    """
    if request.mode == "save" and key.run_name in (IMPORTED, DECLARED):
        raise InvalidName(
            f"run name {key.run_name!r} is reserved: a model cannot be saved under it.",
            hint="Use roost.import_model, or save under the name of a run.",
        )


def needs_no_upload(row: ModelRow, request: ClaimRequest) -> bool:
    """Whether the entry is what the request is for already: saves always write anew."""
    if not row.finished or request.mode == "save":
        return False
    return row.has_weights or request.mode == "register"


def begin(
    session: Session,
    key: ModelKey,
    row: ModelRow | None,
    request: ClaimRequest,
    now: datetime,
    *,
    lease_s: float,
) -> Claim:
    """Give the claim to the asker. Finished content is left as it is.

    Raises:
        ModelBusy: while another writer holds a claim that has not lapsed; naming it.
    """
    held = find_claim(session, key)
    if row is not None and held is not None and held.expires_at > now:
        raise busy(row, held, now)
    if row is None:
        row = ModelRow(family=key.family, suffix=key.suffix, run_name=key.run_name, finished=False)
        session.add(row)
    if not row.finished:
        row.created_at = now
        row.failure = ""
        row.has_weights = request.mode != "register"
    session.flush()  # the claim's row refers to the model's
    claim = put_claim(
        session,
        key,
        token=secrets.token_hex(16),
        mode=request.mode,
        writer=_plain(request.writer, _MAX_WRITER_LENGTH),
        now=now,
        expires_at=now + timedelta(seconds=lease_s),
    )
    return Claim(token=claim.token, lease_s=lease_s)


def own(session: Session, key: ModelKey, token: str) -> ClaimRow:
    """The claim, when it is still the caller's: a lapsed one is, until it has been taken over.

    Raises:
        ModelBusy: when it is not.
    """
    claim = find_claim(session, key)
    if claim is None:
        raise ModelBusy(f"The claim on {str(key)!r} has ended.", hint="Start the upload again.")
    if claim.token != token:
        raise ModelBusy(
            f"The claim on {str(key)!r} was taken over by {claim.writer!r}.",
            hint="Let it finish, then start the upload again if yours is still wanted.",
        )
    return claim


def finish(
    session: Session,
    row: ModelRow,
    claim: ClaimRow,
    request: CommitRequest,
    *,
    weights: Manifest | None,
    config: DeploymentConfig | None,
    now: datetime,
) -> None:
    """Swap the entry for what was uploaded and end the claim.

    A save replaces requirements and config where it brings some; an import or registration
    brings them only where there are none yet.
    """
    row.created_at = now
    row.finished = True
    row.committed_by = claim.token
    row.failure = ""
    row.has_weights = weights is not None
    row.digest = weights.digest if weights is not None else ""
    row.size_bytes = weights.size_bytes if weights is not None else 0
    store_servable(row, request.servable)
    store_settings(row, request.requirements, config, replace=claim.mode == "save")
    session.delete(claim)
    session.flush()


def give_up(session: Session, row: ModelRow, claim: ClaimRow, reason: str) -> None:
    """End the claim without a result; a first upload has then failed for this reason."""
    session.delete(claim)
    session.flush()
    if not row.finished:
        row.failure = _plain(reason, _MAX_REASON_LENGTH) or "No reason was given."


def _plain(text: str, max_length: int) -> str:
    """`text` as every database can hold it and every page can show it."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text[:max_length]).strip()
