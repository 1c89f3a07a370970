"""The registry: claim a model, finish it, find it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Final

from sqlalchemy.orm import Session

from roost.contracts.model import (
    Claim,
    ClaimRequest,
    CommitRequest,
    ModelPhase,
    SavedModel,
    SavedModelPage,
)
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.errors import ModelNotFound
from roost.keys import ModelKey, check_config, check_segment
from roost.records.claims import find_claim
from roost.records.database import Database
from roost.records.models import ModelFilter, ModelRow, count_models, find_model, list_model_keys, page_models
from roost.services.artifacts import Artifacts
from roost.services.clock import Clock
from roost.services.kept import write_kept
from roost.services.model_changes import change_config, change_requirements, remove
from roost.services.model_claims import LEASE_S, begin, finish, give_up, needs_no_upload, own
from roost.services.model_phases import not_ready, saved_model, servable_of, store_servable, store_settings
from roost.storage.artifacts import ArtifactStore
from roost.storage.manifest import Manifest

_MOST_COMPARED: Final = 1000
"""How many keys an unknown one is compared with."""


@dataclass(frozen=True, slots=True)
class ReadyModel:
    """A finished entry and the servable in its bundle."""

    saved: SavedModel
    servable: ServableRef


class Models:
    """Registry entries and the claims under which they are written.

    An entry is written by one writer at a time: it claims the model, uploads, and commits, which
    swaps the entry in one transaction. Until then readers see the old content. A claim belongs to
    its token until another writer takes it over, which needs it to have lapsed; so two writers never mix.
    """

    def __init__(
        self, db: Database, artifacts: ArtifactStore, clock: Clock, *, lease_s: float = LEASE_S
    ) -> None:
        self._db = db
        self._artifacts = Artifacts(artifacts)
        self._clock = clock
        self._lease_s = lease_s

    def get(self, key: ModelKey) -> SavedModel:
        """The entry, in whatever phase.

        Raises:
            ModelNotFound: naming the key.
        """
        with self._db.read() as session:
            return self._view(session, _get(session, key))

    def find(self, key: ModelKey) -> SavedModel | None:
        """The entry, in whatever phase, or None."""
        with self._db.read() as session:
            row = find_model(session, key)
            return self._view(session, row) if row is not None else None

    def get_ready(self, key: ModelKey) -> ReadyModel:
        """The entry when it can be deployed, with its servable.

        Raises:
            ModelNotFound: naming the key.
            ModelNotReady: saying why there is no finished content.
        """
        with self._db.read() as session:
            return self.read_ready(session, key)

    def read_ready(self, session: Session, key: ModelKey) -> ReadyModel:
        """As `get_ready`, inside the caller's session."""
        row = _get(session, key)
        self._require_ready(session, row)
        return ReadyModel(self._view(session, row), servable_of(row))

    def list(
        self,
        *,
        family: str | None = None,
        suffix: str | None = None,
        run_name: str | None = None,
        phase: ModelPhase | None = None,
        limit: int = 100,
        offset: int = 0,
        after: ModelKey | None = None,
    ) -> SavedModelPage:
        """One page in key order, and the number of entries on all pages. None is any.

        Pages that each begin `after` the last key of the one before stay true while others write:
        an entry that is there all the time comes once.

        Raises:
            InvalidName: for a filter that no key can match.
        """
        for what, value in (("family", family), ("suffix", suffix), ("run_name", run_name)):
            if value is not None:
                check_segment(value, what)
        which = ModelFilter(family=family, suffix=suffix, run_name=run_name, phase=phase)
        now = self._clock.now()
        with self._db.read() as session:
            rows, total = page_models(session, which, now=now, limit=limit, offset=offset, after=after)
            return SavedModelPage(items=[saved_model(row, claim, now) for row, claim in rows], total=total)

    def count(self) -> int:
        """How many entries there are, in any phase."""
        with self._db.read() as session:
            return count_models(session)

    def claim(self, key: ModelKey, request: ClaimRequest) -> Claim:
        """Begin to write a model, or learn that an import or registration is ready already.

        Raises:
            ModelBusy: while another writer holds a claim that has not lapsed; naming it.
        """
        with self._db.write() as session:
            now = self._clock.now()
            row = find_model(session, key)
            if row is not None and needs_no_upload(row, request):
                return Claim(ready=self._view(session, row))
            return begin(session, key, row, request, now, lease_s=self._lease_s)

    def renew(self, key: ModelKey, token: str) -> Claim:
        """Keep a claim for another lease; also a lapsed one that nobody has taken over.

        Raises:
            ModelBusy: when the claim is no longer the caller's.
        """
        with self._db.write() as session:
            now = self._clock.now()
            own(session, key, token).expires_at = now + timedelta(seconds=self._lease_s)
            return Claim(token=token, lease_s=self._lease_s)

    def commit(self, key: ModelKey, token: str, request: CommitRequest) -> SavedModel:
        """Finish a claim: the entry is swapped in one transaction. A repeated commit changes nothing.

        Raises:
            ModelBusy: when the claim is no longer the caller's.
            ArtifactNotFound: when a part of the weights or the bundle is not stored.
            InvalidConfig: for a config with a blank key.
        """
        config = check_config(request.config) if request.config is not None else None
        with self._db.read() as session:
            row = find_model(session, key)
            if row is not None and row.committed_by == token:
                return self._view(session, row)
            own(session, key, token)

        def check() -> Manifest | None:
            digest = request.manifest_digest
            weights = self._artifacts.check_weights(digest) if digest else None
            self._artifacts.check_bundle(request.servable)
            return weights

        def swap(session: Session, weights: Manifest | None) -> SavedModel:
            row = find_model(session, key)
            if row is not None and row.committed_by == token:
                return self._view(session, row)
            claim = own(session, key, token)
            assert row is not None  # a claim goes with its model
            finish(session, row, claim, request, weights=weights, config=config, now=self._clock.now())
            return self._view(session, row)

        return write_kept(self._db, check, swap)

    def abandon(self, key: ModelKey, token: str, reason: str) -> SavedModel | None:
        """End a claim without a result. A first upload then reads `upload_failed` with the reason;
        finished content stays as it was. A claim that is not the caller's is left alone.

        Returns:
            The entry as it is now; None when there is none.
        """
        with self._db.write() as session:
            row = find_model(session, key)
            claim = find_claim(session, key)
            if row is None:
                return None
            if claim is not None and claim.token == token:
                give_up(session, row, claim, reason)
            return self._view(session, row)

    def refresh_bundle(
        self,
        key: ModelKey,
        servable: ServableRef,
        *,
        requirements: ModelRequirements | None = None,
        config: Mapping[str, str] | None = None,
    ) -> SavedModel:
        """Give a finished entry a new bundle, and requirements and config where it has none yet; what it
        has already writes nothing.

        Raises:
            ModelNotFound: naming the key.
            ModelNotReady: when it has no finished content.
            ArtifactNotFound: when the bundle is not stored.
            InvalidConfig: for a config with a blank key.
        """
        checked = check_config(config) if config is not None else None
        ready = self.get_ready(key)
        if ready.servable == servable and requirements is None and checked is None:
            return ready.saved

        def swap(session: Session, _checked: None) -> SavedModel:
            row = _get(session, key)
            self._require_ready(session, row)
            store_servable(row, servable)
            store_settings(row, requirements, checked)
            return self._view(session, row)

        return write_kept(self._db, lambda: self._artifacts.check_bundle(servable), swap)

    def set_config(self, key: ModelKey, config: Mapping[str, str]) -> SavedModel:
        """Replace the whole config; it takes effect at the next deploy.

        Raises:
            ModelNotFound: naming the key.
            InvalidConfig: for a blank key or a value that is no string.
        """
        checked = check_config(config)
        with self._db.write() as session:
            row = _get(session, key)
            change_config(session, row, checked, self._clock.now())
            return self._view(session, row)

    def set_requirements(self, key: ModelKey, requirements: ModelRequirements) -> SavedModel:
        """Replace the requirements; they take effect at the next deploy.

        Raises:
            ModelNotFound: naming the key.
        """
        with self._db.write() as session:
            row = _get(session, key)
            change_requirements(session, row, requirements, self._clock.now())
            return self._view(session, row)

    def delete(self, key: ModelKey) -> None:
        """Remove the entry. Afterwards the key is as if it had never been saved.

        Raises:
            ModelNotFound: naming the key.
            ModelInUse: while deployments of it are wanted; naming them.
            ModelBusy: while a live writer uploads it; naming the writer.
        """
        with self._db.write() as session:
            remove(session, _get(session, key), self._clock.now())

    def require_ready(self, session: Session, key: ModelKey) -> None:
        """Make sure, inside the caller's session, that the entry can be deployed.

        Raises:
            ModelNotFound, ModelNotReady: as `get_ready`.
        """
        self._require_ready(session, _get(session, key))

    def _view(self, session: Session, row: ModelRow) -> SavedModel:
        claim = None if row.finished else find_claim(session, row.key)  # it says nothing of a finished one
        return saved_model(row, claim, self._clock.now())

    def _require_ready(self, session: Session, row: ModelRow) -> None:
        if not row.finished:
            raise not_ready(row, find_claim(session, row.key), self._clock.now())


def _get(session: Session, key: ModelKey) -> ModelRow:
    row = find_model(session, key)
    if row is None:
        raise _unknown(session, key)
    return row


def _unknown(session: Session, key: ModelKey) -> ModelNotFound:
    known = [str(other) for other in list_model_keys(session, limit=_MOST_COMPARED)]
    close = get_close_matches(str(key), known, n=3, cutoff=0.7)
    hint = "`roost models list` shows the models there are."
    if close:
        hint = f"Did you mean {' or '.join(map(repr, close))}? {hint}"
    return ModelNotFound(f"There is no model {str(key)!r}.", hint=hint)
