"""The parts of one server that deployments need, over HTTP to a dashboard."""

from __future__ import annotations

from pathlib import Path

from roost.contracts.deployment import Deployment, DeployRequest
from roost.engine.logs import replica_log
from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.keys import DeploymentKey, ModelKey
from roost.reconcile.deployments import Reconciler
from roost.records.database import Database
from roost.records.upgrade import upgrade
from roost.services.changes import Changes
from roost.services.clock import SystemClock
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.models import Models
from roost.services.routes import RouteTable
from roost.serving.plan import IngressOptions
from roost.serving.settings import ServeSettings
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

SERVE_URL = "http://127.0.0.1:8000"


class DeployingServer:
    """Models of it are all `f/s/<run name>` and ready; the run name is the deployment's name, too.

    Args:
        holder: Names it among the servers of one database.
    """

    def __init__(self, db: Database, dashboard_url: str, holder: str = "one") -> None:
        clock = SystemClock()
        self.db = db
        self.changes = Changes()
        self.api = ServeApi(dashboard_url, None, timeout_s=10.0)
        self.view = EngineView(
            lambda: list_nodes(self.api.dashboard), lambda name, tail: replica_log(self.api, name, tail)
        )
        self.reconciler = Reconciler(
            db,
            self.api,
            self.view,
            self.changes,
            clock,
            holder=holder,
            ingress=IngressOptions(http_options={"host": "127.0.0.1", "port": 8000}),
        )
        self.deployments = Deployments(
            db,
            Models(db, MemoryStore(), clock),
            self.view,
            ServeSettings(serve_url=SERVE_URL, storage_url="file:///s"),
            self.changes,
            clock,
            wake=self.reconciler.wake,
        )
        self.routes = RouteTable(db, self.changes, serve_url=SERVE_URL)

    def start(self) -> DeployingServer:
        """Start the threads. Without them `reconciler.cycle` is one round."""
        self.routes.start()
        self.reconciler.start()
        return self

    def stop(self) -> None:
        """End the threads and close the connections; the records stay open."""
        self.reconciler.stop()
        self.changes.close()
        self.routes.stop()
        self.api.close()

    def deploy(self, run_name: str, *, bundle: str = "b" * 64, num_replicas: int = 1) -> Deployment:
        """Deploy the model of this run name, which is made when it is not there."""
        model = ModelKey("f", "s", run_name)
        save_ready_model(self.db, model, bundle=bundle)
        return self.deployments.deploy(model, DeployRequest(name=run_name, num_replicas=num_replicas))

    def show(self, run_name: str) -> Deployment:
        """How it stands."""
        return self.deployments.get(DeploymentKey("f", "s", run_name))


def open_records(path: Path) -> Database:
    """The records in a SQLite file, made when it is not there."""
    db = Database(f"sqlite:///{path}")
    upgrade(db)
    return db
