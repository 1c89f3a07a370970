"""What the records refer to in storage, and which uploads are under way."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from roost.records.claims import find_oldest_claim
from roost.records.deployments import DeploymentRow, list_active
from roost.records.models import list_artifacts

_NAME: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.ASCII)

CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""At most, between servers and the storage."""


@dataclass(frozen=True, slots=True)
class References:
    """What models and deployments refer to at one moment.

    Attributes:
        names: Digests and fingerprints of manifests, bundles and runtimes; chunks are in the manifests.
        weights: What refers to each manifest, by its digest.
        uploading_since: When the oldest upload under way began, with the difference of clocks taken off.
        notes: What cannot be told, in sentences.
    """

    names: frozenset[str]
    weights: dict[str, str]
    uploading_since: datetime | None
    notes: tuple[str, ...] = ()


def read_references(session: Session, now: datetime) -> References:
    """All that may not be garbage, as of this session.

    Of a deployment that is what it was started from, not what its model has become since, and the bundle
    that is being replaced.
    """
    names: set[str] = set()
    weights: dict[str, str] = {}
    notes: list[str] = []
    for key, digest, bundle in list_artifacts(session):
        names.update((digest, bundle))
        if _NAME.fullmatch(digest):
            weights[digest] = f"model {key!r}"
        elif digest:
            notes.append(f"The record of model {key!r} cannot be read (its digest is {digest!r}).")
    for row in list_active(session):
        names.update((row.bundle_fingerprint, row.replaced_bundle_fingerprint))
        # Whatever reads like a name counts, wherever it stands.
        names.update(names_in(json.dumps(row.application)))
        try:
            weights.update(dict.fromkeys(_weights_of(row), f"deployment {row.key!r}"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            notes.append(f"The record of deployment {row.key!r} cannot be read ({error!r}).")
    oldest = find_oldest_claim(session, now)
    since = oldest - CLOCKS_DIFFER if oldest is not None else None
    return References(frozenset(names - {""}), weights, since, tuple(notes))


def names_in(text: str) -> set[str]:
    """All digests and fingerprints in a text."""
    return set(_NAME.findall(text))


def _weights_of(row: DeploymentRow) -> list[str]:
    digest = row.application["args"]["weightsDigest"]
    if digest is None:
        return []
    if not _NAME.fullmatch(digest):
        raise ValueError(digest)
    return [digest]
