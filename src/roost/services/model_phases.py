"""What a registry entry is to a caller; its phase follows from its row and the claim on it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Final

from roost.contracts.model import ClaimMode, ModelPhase, SavedModel
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.errors import ModelBusy, ModelNotReady
from roost.keys import NO_WEIGHTS, DeploymentConfig
from roost.records.claims import ClaimRow
from roost.records.models import ModelRow

_DOING: Final[dict[ClaimMode, str]] = {"save": "saved", "import": "imported", "register": "registered"}


def phase_of(row: ModelRow, claim: ClaimRow | None, now: datetime) -> ModelPhase:
    """The phase. While a finished entry is written again it stays ready: its old content is whole."""
    if row.finished:
        return "ready"
    if claim is None:
        return "upload_failed"
    return "uploading" if claim.expires_at > now else "broken"


def saved_model(row: ModelRow, claim: ClaimRow | None, now: datetime) -> SavedModel:
    """The entry as callers see it."""
    phase = phase_of(row, claim, now)
    return SavedModel(
        family=row.family,
        suffix=row.suffix,
        run_name=row.run_name,
        created_at=row.created_at,
        data_blob_path=_data_blob_path(row),
        size_bytes=row.size_bytes,
        phase=phase,
        requirements=ModelRequirements(**(row.requirements or {})),
        config=row.config or {},
        bundle_fingerprint=row.bundle_fingerprint,
        digest=row.digest,
        has_weights=row.has_weights,
        class_path=row.class_path,
        capability=row.capability,
        message=_message(row, claim, phase),
    )


def servable_of(row: ModelRow) -> ServableRef:
    """The servable of a finished entry."""
    assert row.finished
    assert row.kind is not None
    return ServableRef(
        class_path=row.class_path,
        kind=row.kind,
        capability=row.capability,
        bundle_fingerprint=row.bundle_fingerprint,
        pins=row.pins,
    )


def store_servable(row: ModelRow, servable: ServableRef) -> None:
    """Give the entry this servable."""
    row.class_path = servable.class_path
    row.kind = servable.kind
    row.capability = servable.capability
    row.bundle_fingerprint = servable.bundle_fingerprint
    row.pins = servable.pins


def store_requirements(row: ModelRow, requirements: ModelRequirements) -> None:
    """Give the entry these requirements."""
    row.requirements = asdict(requirements)


def store_settings(
    row: ModelRow,
    requirements: ModelRequirements | None,
    config: DeploymentConfig | None,
    *,
    replace: bool = False,
) -> None:
    """Give the entry what is not None: where it has none yet, or in place of what it has."""
    if requirements is not None and (replace or row.requirements is None):
        store_requirements(row, requirements)
    if config is not None and (replace or row.config is None):
        row.config = config


def busy(row: ModelRow, claim: ClaimRow, now: datetime) -> ModelBusy:
    """The error for a model that somebody else writes."""
    left_s = max(1.0, (claim.expires_at - now).total_seconds())
    return ModelBusy(
        f"{str(row.key)!r} is being {_DOING[claim.mode]} by {claim.writer!r}.",
        hint=f"Try again when it has finished. If it has died, its claim lapses in {left_s:.0f} s.",
        retry_after_s=left_s,
    )


def not_ready(row: ModelRow, claim: ClaimRow | None, now: datetime) -> ModelNotReady:
    """The error for a model without content to deploy or load."""
    phase = phase_of(row, claim, now)
    if phase == "uploading":
        assert claim is not None
        return ModelNotReady(
            f"{str(row.key)!r} is still being {_DOING[claim.mode]} by {claim.writer!r}.",
            hint="Try again when it has finished.",
        )
    return ModelNotReady(
        f"{str(row.key)!r} is {phase}: {_message(row, claim, phase)}", hint="Save or import it again."
    )


def _data_blob_path(row: ModelRow) -> str:
    if not row.has_weights:
        return NO_WEIGHTS
    return f"manifests/{row.digest}.json" if row.digest else ""


def _message(row: ModelRow, claim: ClaimRow | None, phase: ModelPhase) -> str:
    if phase == "broken":
        assert claim is not None
        return (
            f"{claim.writer!r} stopped at {claim.expires_at:%Y-%m-%d %H:%M:%S} UTC, before it had finished."
        )
    return row.failure if phase == "upload_failed" else ""
