"""Deployments as callers want and see them. Only the reconciler talks to Ray."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final, cast

from sqlalchemy.orm import Session

from roost.contracts.deployment import (
    Deployment,
    DeploymentList,
    DeploymentPhase,
    DeployRequest,
    ReplicaPlacement,
)
from roost.errors import ModelNotDeployed
from roost.keys import DeploymentKey, ModelKey
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, find_deployment, list_active, list_deployments
from roost.records.events import Happening, add_event
from roost.services.changes import Changes
from roost.services.clock import Clock
from roost.services.deployment_rows import begin, claim_name, end, is_settled_on, new_row, update, wish_of
from roost.services.deployment_target import Target
from roost.services.engine_view import EngineView
from roost.services.kept import write_kept
from roost.services.models import Models
from roost.services.targets import Asked, Targets
from roost.services.unplaced import list_unplaced, place
from roost.serving.placement import is_placed
from roost.serving.settings import ServeSettings
from roost.serving.spec import replica_options

_log = logging.getLogger("roost.deployments")

MAX_LOG_LINES: Final = 10_000


class Deployments:
    """Writes what is wanted into the records and wakes the reconciler; reads what was seen.

    Args:
        engine: What is known of Ray; asked for its nodes only when something new is to be placed.
        wake: Makes the reconciler look at once; called after each commit that concerns Ray.
    """

    def __init__(
        self,
        db: Database,
        models: Models,
        engine: EngineView,
        settings: ServeSettings,
        changes: Changes,
        clock: Clock,
        *,
        wake: Callable[[], None],
    ) -> None:
        self._db = db
        self._models = models
        self._targets = Targets(db, models, engine, settings)
        self._engine = engine
        self._settings = settings
        self._changes = changes
        self._clock = clock
        self._wake = wake
        engine.when_seen(self.place_waiting)

    def deploy(self, model: ModelKey, request: DeployRequest) -> Deployment:
        """Want this model with this config; what is wanted already, and has not failed, is not written again.

        Raises:
            InvalidConfig, InvalidName: for a bad config or name.
            ModelNotFound, ModelNotReady: when the model has nothing to deploy.
            NameTaken: when another live deployment has the name and `take_name` is not set.
            Infeasible: when no node could ever hold one replica.
        """
        asked = self._targets.asked(model, request)
        if asked.row is not None and asked.settled:
            return self._view(asked.row)
        return self._write(model, request, asked)

    def redeploy(self, key: DeploymentKey) -> Deployment:
        """The same config, replicas and name with the model as it is now.

        Raises:
            ModelNotDeployed: when it is not deployed.
            ModelNotFound, ModelNotReady, Infeasible: as `deploy`.
        """
        row = self._find_row(key)
        if row is None or not row.present:
            raise _not_deployed(key)
        wish = wish_of(row)
        request = DeployRequest(
            config=row.config,
            num_replicas=wish.num_replicas,
            autoscaling=wish.autoscaling,
            rollout=wish.rollout,
            pinned=wish.pinned,
            idle_timeout_s=wish.idle_timeout_s,
        )
        return self.deploy(key.model, request)

    def undeploy(self, key: DeploymentKey) -> Deployment:
        """Want it gone; again and again is no error.

        Raises:
            ModelNotDeployed: when it never was deployed.
        """
        with self._db.write() as session:
            row = find_deployment(session, key)
            if row is None:
                raise _not_deployed(key)
            if not row.present:
                return self._view(row)
            end(row)
            gone = Happening("undeployed", row.key, "It is to be removed.", {"generation": row.generation})
            add_event(session, gone, self._clock.now())
        self._tell()
        return self._view(row)

    def get(self, key: DeploymentKey) -> Deployment:
        """How it stands; also when it was undeployed.

        Raises:
            ModelNotDeployed: when it never was deployed.
        """
        row = self._find_row(key)
        if row is None:
            raise _not_deployed(key)
        return self._view(row)

    def find(self, key: DeploymentKey) -> Deployment | None:
        """How it stands, or None when it never was deployed."""
        row = self._find_row(key)
        return self._view(row) if row is not None else None

    def list(self, *, live: bool = True) -> DeploymentList:
        """Those that are wanted or still on their way out; without `live`, all that ever were. By key.

        A record that cannot be read hides no other.
        """
        with self._db.read() as session:
            rows = list_active(session) if live else list_deployments(session)
        items = []
        for row in rows:
            try:
                items.append(self._view(row))
            except (AttributeError, KeyError, TypeError, ValueError) as error:  # InvalidName is one, too
                _log.error("deployment %r cannot be shown: %r", row.key, error)
        return DeploymentList(items=items)

    def log(self, key: DeploymentKey, tail: int) -> str:
        """The last `tail` lines of the replicas' logs, at most 10,000.

        Raises:
            ModelNotDeployed: when it never was deployed.
            EngineUnavailable: when Ray does not answer.
        """
        self.get(key)
        return self._engine.replica_log(key.app_name, min(tail, MAX_LOG_LINES))

    def place_waiting(self) -> bool:
        """Place what was deployed while no node for it was known; False while there is such."""
        unplaced = list_unplaced(self._db)
        nodes = self._engine.find_nodes() if unplaced else None
        placed = place(self._db, unplaced, nodes, self._clock.now()) if nodes else []
        if placed:
            self._changes.notify()  # the reconciler, which calls this, looks again in a moment
        return len(placed) == len(unplaced)

    def _write(self, model: ModelKey, request: DeployRequest, asked: Asked) -> Deployment:
        row = write_kept(
            self._db,
            lambda: self._targets.placed(self._targets.asked(model, request)),
            lambda session, target: self._record(session, target, request),
            first=(asked.emptyings, self._targets.placed(asked)),
        )
        if not is_placed(replica_options(row.application)):
            self._engine.when_seen(self.place_waiting)
        self._tell()
        return self._view(row)

    def _record(self, session: Session, target: Target, request: DeployRequest) -> DeploymentRow:
        now = self._clock.now()
        key = target.key
        self._models.require_ready(session, key.model)  # it may have been deleted since it was read
        row = find_deployment(session, key)
        present = row is not None and row.present
        name = request.name or (row.name if row is not None and present else key.default_name)
        keeps_name = row is not None and present and row.name == name
        loser = None if keeps_name else claim_name(session, name, str(key), take=request.take_name)
        happenings = [_renamed(loser)] if loser is not None else []
        if row is None:
            row = new_row(target, name, now)
            session.add(row)
        elif not present:
            begin(row, target, name, now)
        else:
            if row.name != name:
                row.name = row.live_name = name
                row.version += 1
                happenings.append(_renamed(row))
            if not is_settled_on(row, target):
                happenings.append(update(row, target, now))
        if not present:
            happenings.append(_deployed(row))
        for happening in happenings:
            add_event(session, happening, now)
        return row

    def _tell(self) -> None:
        self._wake()
        self._changes.notify()

    def _find_row(self, key: DeploymentKey) -> DeploymentRow | None:
        with self._db.read() as session:
            return find_deployment(session, key)

    def _view(self, row: DeploymentRow) -> Deployment:
        wish = wish_of(row)
        names = self._engine.node_names()
        replicas = [
            ReplicaPlacement(
                replica_id=replica["replica_id"],
                state=replica["state"],
                node_id=replica["node_id"],
                node_ip=replica["node_ip"],
                node_name=names.get(replica["node_id"] or ""),
            )
            for replica in row.replicas
        ]
        return Deployment(
            family=row.family,
            suffix=row.suffix,
            run_name=row.run_name,
            config_fingerprint=row.config_fingerprint,
            name=row.name,
            config=row.config,
            url=self._settings.serve_url + row.deployment_key.route_prefix,
            phase=cast(DeploymentPhase, row.phase),
            message=row.message,
            bundle_fingerprint=row.bundle_fingerprint,
            replaced_bundle_fingerprint=row.replaced_bundle_fingerprint,
            num_replicas=wish.num_replicas,
            autoscaling=wish.autoscaling,
            rollout=wish.rollout,
            pinned=wish.pinned,
            idle_timeout_s=wish.idle_timeout_s,
            failures=row.failures,
            used_at=row.used_at,
            capability=row.capability,
            generation=row.generation,
            observed_generation=row.observed_generation,
            version=row.version,
            observed_at=self._observed_at(row),
            stale=row.stale,
            replicas=replicas,
        )

    def _observed_at(self, row: DeploymentRow) -> datetime | None:
        """The row has the time of the last change; while Ray answers, that has held good until now."""
        last_seen = self._engine.last_seen
        if row.observed_at is None or last_seen is None or row.stale or row.phase == "not_deployed":
            return row.observed_at
        return max(row.observed_at, last_seen)


def _deployed(row: DeploymentRow) -> Happening:
    data = {"generation": row.generation, "bundle": row.bundle_fingerprint, "name": row.name}
    return Happening("deployed", row.key, f"It is to be deployed as {row.name!r}.", data)


def _renamed(row: DeploymentRow) -> Happening:
    return Happening("renamed", row.key, f"Its name is {row.name!r} now.", {"name": row.name})


def _not_deployed(key: DeploymentKey) -> ModelNotDeployed:
    return ModelNotDeployed(
        f"{str(key)!r} is not deployed.",
        hint="`roost deployments list` shows what is; `roost deploy` deploys it.",
    )
