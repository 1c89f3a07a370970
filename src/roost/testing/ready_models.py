"""Finished registry entries without an upload."""

from __future__ import annotations

from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.keys import ModelKey
from roost.records.database import Database
from roost.records.models import ModelRow, find_model
from roost.services.model_phases import store_requirements, store_servable
from roost.testing.fake_clock import EPOCH


def save_ready_model(
    db: Database,
    key: ModelKey,
    *,
    bundle: str = "b" * 64,
    capability: str | None = "detection",
    pins: tuple[str, ...] = (),
    requirements: ModelRequirements | None = None,
    config: dict[str, str] | None = None,
) -> None:
    """Write the entry as a save would leave it, over what is there; its artifacts are stored nowhere."""
    servable = ServableRef(
        class_path="models:Model",
        kind="inference_model" if capability else "serve_app",
        capability=capability,
        bundle_fingerprint=bundle,
        pins=list(pins),
    )
    with db.write() as session:
        row = find_model(session, key)
        if row is None:
            row = ModelRow(
                family=key.family, suffix=key.suffix, run_name=key.run_name, created_at=EPOCH, digest="d" * 64
            )
            session.add(row)
        row.finished = True
        row.config = config
        store_servable(row, servable)
        store_requirements(row, requirements or ModelRequirements())
