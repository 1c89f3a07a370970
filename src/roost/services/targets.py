"""From a request to what is to run: the same for a deploy and for its plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from roost.contracts.deployment import DeployRequest
from roost.keys import DeploymentKey, ModelKey, check_config, deployment_key
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, find_deployment
from roost.records.trash import count_emptyings
from roost.services.deployment_rows import is_settled_on, running_replicas, serves
from roost.services.deployment_target import Target, Wish, target_of
from roost.services.engine_view import EngineView
from roost.services.models import Models, ReadyModel
from roost.serving.feasible import check_feasible
from roost.serving.names import check_name
from roost.serving.placement import actor_options
from roost.serving.settings import ServeSettings
from roost.serving.spec import replica_options, restarts_replicas


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a deployment, beside what is recorded of it.

    Attributes:
        row: Its record while it is deployed, else None.
        name: The name it would have.
        settled: The request asks for nothing that is not wanted already, and has not failed.
        emptyings: How often the trash had been emptied when the records were read (`write_kept`).
    """

    row: DeploymentRow | None
    target: Target
    name: str
    settled: bool
    emptyings: int

    @property
    def key(self) -> DeploymentKey:
        """Of the deployment."""
        return self.target.key

    @property
    def starts_afresh(self) -> bool:
        """Whether nothing of it serves: it is not deployed, or failed."""
        return self.row is None or (self.row.phase == "failed" and not serves(self.row))


class Targets:
    """Computes what deployments come to; asks Ray for its nodes only when replicas are placed anew."""

    def __init__(self, db: Database, models: Models, engine: EngineView, settings: ServeSettings) -> None:
        self._db = db
        self._models = models
        self._engine = engine
        self._settings = settings

    def asked(self, model: ModelKey, request: DeployRequest) -> Asked:
        """What a request comes to; a deployment keeps its placement while the requirements are the same.

        Raises:
            InvalidConfig, InvalidName: for a bad config or name.
            ModelNotFound, ModelNotReady: when the model has nothing to deploy.
        """
        config = check_config(request.config)
        key = deployment_key(model.family, model.suffix, model.run_name, config)
        if request.name is not None:
            check_name(request.name, key)
        with self._db.read() as session:
            emptyings = count_emptyings(session)
            found = find_deployment(session, key)
            ready = self._models.read_ready(session, model)
        row = found if found is not None and found.present else None
        target = self._target(key, row, ready, config, Wish.of(request))
        name = request.name or (row.name if row is not None else key.default_name)
        settled = row is not None and is_settled_on(row, target) and row.name == name
        return Asked(row, target, name, settled, emptyings)

    def placed(self, asked: Asked) -> Target:
        """The target where it is to run. While Ray does not answer, that is left to Ray.

        Raises:
            Infeasible: when replicas are to be placed anew and no node could ever hold one.
        """
        target, row = asked.target, asked.row
        if row is not None:
            target = target.starting_with(running_replicas(row))
            if not asked.starts_afresh and not restarts_replicas(row.application, target.application):
                return target
        nodes = self._engine.find_nodes()
        if nodes is None:
            return target
        cpus = self._settings.replica_cpus
        check_feasible(target.requirements, cpus, nodes)
        return target.placed(actor_options(target.requirements, cpus, nodes))

    def _target(
        self,
        key: DeploymentKey,
        row: DeploymentRow | None,
        ready: ReadyModel,
        config: dict[str, str],
        wish: Wish,
    ) -> Target:
        options = actor_options(ready.saved.requirements, self._settings.replica_cpus)
        if row is not None and row.requirements == asdict(ready.saved.requirements):
            placed = replica_options(row.application)
            options = placed if placed["num_cpus"] == options["num_cpus"] else options
        return target_of(key, ready, config=config, wish=wish, actor_options=options, settings=self._settings)
