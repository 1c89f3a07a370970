"""Where a replica could run, and what a deploy would do. Nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roost.contracts.deployment import DeployRequest
from roost.contracts.info import NodeInfo
from roost.contracts.placement import DeployPlan, ExplainRequest, PlacementExplanation
from roost.contracts.requirements import ModelRequirements
from roost.errors import BadRequest, EngineUnavailable, ModelNotDeployed
from roost.keys import DeploymentKey, ModelKey
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, find_deployment, list_active
from roost.services.clock import Clock
from roost.services.deployment_rows import find_loser
from roost.services.engine_view import EngineView
from roost.services.models import Models
from roost.services.plan import plan_of
from roost.services.targets import Targets
from roost.serving.explain import explain_nodes, share_reason, tiers_of
from roost.serving.placement import actor_options
from roost.serving.room import resources_of
from roost.serving.settings import ServeSettings
from roost.serving.spec import replica_options


class Placement:
    """Answers from the records and Ray's nodes."""

    def __init__(
        self, db: Database, models: Models, engine: EngineView, settings: ServeSettings, clock: Clock
    ) -> None:
        self._db = db
        self._models = models
        self._engine = engine
        self._settings = settings
        self._clock = clock
        self._targets = Targets(db, models, engine, settings)

    def explain(self, request: ExplainRequest) -> PlacementExplanation:
        """Where one more replica could run: of a deployment, of a model, or with plain requirements.

        Raises:
            BadRequest: unless either a key or requirements are given.
            ModelNotFound, ModelNotDeployed: for a key that names nothing.
            EngineUnavailable: while Ray's nodes are not known.
        """
        if (request.key is None) == (request.requirements is None):
            raise BadRequest("either a key or requirements are to be explained.", hint="Give one of the two.")
        nodes = self._engine.find_nodes()
        if nodes is None:
            raise EngineUnavailable(
                f"Ray does not tell its nodes: {self._engine.trouble or 'it does not answer.'}",
                hint="Run roost doctor.",
            )
        if request.requirements is not None:
            return self._explained(request.requirements, nodes)
        key = DeploymentKey.parse(request.key or "")
        with self._db.read() as session:
            row = find_deployment(session, key)
        if row is not None and row.present:
            options = replica_options(row.application)
            found = self._explained(ModelRequirements(**row.requirements), nodes, options)
            return found.model_copy(update={"key": str(key), "deployed": True})
        if row is None and key.config_fingerprint:
            raise ModelNotDeployed(
                f"{str(key)!r} is not deployed.", hint=f"Explain the model: `roost explain {key.model}`."
            )
        found = self._explained(self._models.get(key.model).requirements, nodes)
        return found.model_copy(update={"key": str(key)})

    def plan(self, model: ModelKey, request: DeployRequest) -> DeployPlan:
        """What `Deployments.deploy` would do with the same arguments; its errors."""
        asked = self._targets.asked(model, request)
        with self._db.read() as session:
            loser = find_loser(session, asked.name, str(asked.key), take=request.take_name)
        target = asked.target if asked.settled else self._targets.placed(asked)
        nodes = None if asked.settled else self._engine.find_nodes()
        return plan_of(
            asked,
            target,
            nodes,
            self._engine.node_names(),
            loser=loser.key if loser is not None else None,
            rows=self._active,
            now=self._clock.now(),
        )

    def _active(self) -> Sequence[DeploymentRow]:
        with self._db.read() as session:
            return list_active(session)

    def _explained(
        self,
        requirements: ModelRequirements,
        nodes: Sequence[NodeInfo],
        options: dict[str, Any] | None = None,
    ) -> PlacementExplanation:
        if options is None:
            options = actor_options(requirements, self._settings.replica_cpus, nodes)
        return PlacementExplanation(
            requirements=requirements,
            needed=resources_of(options),
            actor_options=options,
            gpu_share=share_reason(options, requirements),
            tiers=tiers_of(options),
            nodes=explain_nodes(options, requirements, nodes),
        )
