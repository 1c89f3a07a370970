"""All parts of one server, made from its settings and wired together."""

from __future__ import annotations

import os
import secrets
import socket
from importlib.metadata import PackageNotFoundError, version

import roost
from roost.asgi.types import ASGIApp
from roost.capabilities.table import CAPABILITIES
from roost.contracts.info import ServerInfo, StorageInfo
from roost.contracts.replica import ReplicaLimits
from roost.engine.ingress import Ingress
from roost.engines import Engine, open_engine
from roost.errors import Unavailable
from roost.gateway.forward import Forwarder
from roost.gateway.inference import InferenceGateway
from roost.gateway.interfaces import Interfaces
from roost.gateway.pool import UpstreamPool
from roost.gateway.probes import ClusterCounts, Startup
from roost.hosts import is_loopback
from roost.reconcile.deployments import Reconciler
from roost.reconcile.expiry import Expiry
from roost.reconcile.garbage import GarbageLoop
from roost.reconcile.scheduling import Scheduling
from roost.records.database import Database
from roost.records.upgrade import upgrade
from roost.services.changes import Changes
from roost.services.clock import SystemClock
from roost.services.declared import DeclaredModels
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.events import Events
from roost.services.garbage import Garbage
from roost.services.models import Models
from roost.services.placement import Placement
from roost.services.routes import RouteTable
from roost.serving.settings import ServeSettings
from roost.settings import Settings
from roost.storage.artifacts import StoredArtifacts
from roost.storage.backends import BRIEF
from roost.storage.store import ObjectStore


class Parts:
    """Made without touching Ray; `start` begins the work, `stop` ends it in the right order."""

    def __init__(self, settings: Settings) -> None:
        clock = SystemClock()
        # Servers of one host, also in containers, may have the same pid.
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.settings = settings
        self.store = ObjectStore.open(settings.resolved_storage_url)
        # For what is asked of the storage itself: a bucket that is away is not waited for.
        self.brief_store = ObjectStore.open(settings.resolved_storage_url, BRIEF)
        self.engine: Engine = open_engine(settings, self.store, self._engine_ready)
        self.db = Database(settings.resolved_database_url)
        self.artifacts = StoredArtifacts(self.store)
        self.changes = Changes()
        self.view = EngineView(self.engine.access.list_nodes, self.engine.access.replica_log)
        self.models = Models(self.db, self.artifacts, clock, lease_s=settings.claim_lease_s)
        self.ingress = Ingress(self.engine.serve_url)
        self.reconciler = Reconciler(
            self.db,
            self.engine.access,
            self.view,
            self.changes,
            clock,
            holder=self.name,
            ingress=self.engine.ingress,
            scheduling=Scheduling(self.engine.access, self.ingress.usage),
            is_routed=self.ingress.routes,
            ingress_name=f"Serve at {self.engine.serve_url}",
        )
        serving = serve_settings(settings, self.engine.serve_url, self.engine.runtime_zip)
        self.placement = Placement(self.db, self.models, self.view, serving, clock)
        self.deployments = Deployments(
            self.db,
            self.models,
            self.view,
            serving,
            self.changes,
            clock,
            wake=self.reconciler.wake,
        )
        self.events = Events(self.db)
        self.expiry = Expiry(self.db, clock, holder=self.name)
        self.garbage = Garbage(
            self.db,
            self.store,
            clock,
            holder=self.name,
            grace_s=settings.gc_grace_s,
            runtimes=[self.engine.runtime_zip] if self.engine.runtime_zip else [],
        )
        self.collecting = GarbageLoop(self.garbage, leads=lambda: self.reconciler.find_leader() == self.name)
        self.routes = RouteTable(self.db, self.changes, serve_url=self.engine.serve_url)
        self.declared = DeclaredModels(self.models, self.artifacts, self.deployments, self.changes)
        self.pool = UpstreamPool()
        self.interfaces = Interfaces(self.pool)

    def start(self) -> None:
        """Bring the engine up, meanwhile the records; then follow both."""
        self.engine.start()
        upgrade(self.db)
        self.routes.start()
        self.reconciler.start()
        self.expiry.start()
        self.collecting.start()

    def stop(self) -> None:
        """End the loops, then what this server started on Ray. Takes about 2 s at most."""
        self.changes.close()
        self.reconciler.stop(0.3)
        self.engine.stop()
        self.reconciler.stop(1.0)
        self.expiry.stop(0.5)
        self.collecting.stop(0.5)
        self.routes.stop(0.5)
        self.engine.access.close()
        self.ingress.close()
        self.db.close()

    def inference(self) -> ASGIApp:
        """The data path; made in the event loop that runs it."""
        forwarder = Forwarder(self.pool, is_held=self.routes.holds, find_lack=self.routes.find_lack)
        return InferenceGateway(
            self.routes, forwarder, CAPABILITIES, max_body_bytes=self.settings.max_body_bytes
        )

    def info(self, exposed: bool) -> ServerInfo:
        """What the server says of itself; asks Ray for its nodes when it can be asked."""
        engine = self.engine.info()
        nodes = self.view.find_nodes() if engine.state == "ready" else None
        if engine.state == "ready" and nodes is None:
            engine = engine.model_copy(update={"state": "unreachable", "message": self.view.trouble})
        elif engine.state == "ready":
            engine = engine.model_copy(update={"message": self.engine.find_fault()})
        engine = engine.model_copy(
            update={"nodes": list(nodes or ()), "exposed": self.engine.exposed() if exposed else []}
        )
        return ServerInfo(
            version=roost.__version__,
            url=self.settings.url,
            home=str(self.settings.home_dir),
            database=self.db.engine.url.render_as_string(hide_password=True),
            storage=self._storage(),
            engine=engine,
            models=self.models.count(),
            deployments=len(self.routes.snapshot()),
            pid=os.getpid(),
            name=self.name,
            leader=self.reconciler.find_leader(),
        )

    def _storage(self) -> StorageInfo:
        try:
            return StorageInfo(url=self.store.url, storage_id=self.brief_store.storage_id())
        except Unavailable:
            # `roost doctor` says what is wrong; no caller takes another storage for one without an id.
            return StorageInfo(url=self.store.url, storage_id="")

    def startup(self) -> Startup:
        """Whether the start is over."""
        return Startup(problem=self.engine.trouble() or None)

    def cluster(self) -> ClusterCounts:
        """The cluster as last seen."""
        nodes = [node for node in self.view.last_nodes() if node.alive]
        if not nodes:
            return ClusterCounts()
        return ClusterCounts(
            num_cpus=sum(node.resources.get("CPU", 0.0) for node in nodes),
            num_gpus=sum(node.resources.get("GPU", 0.0) for node in nodes),
            num_nodes=len(nodes),
        )

    def _engine_ready(self) -> None:
        self.view.find_nodes()
        self.reconciler.wake()
        self.changes.notify()


def serve_settings(settings: Settings, serve_url: str, runtime_zip: str | None = None) -> ServeSettings:
    """How replicas are started; `runtime_zip` is what workers of an existing cluster run."""
    embedded = settings.ray_dashboard_url is None
    # Nodes on other machines have folders of their own.
    one_machine = embedded and is_loopback(settings.cluster_host)
    return ServeSettings(
        serve_url=serve_url,
        storage_url=settings.resolved_storage_url,
        cache_dir=str(settings.resolved_cache_dir) if one_machine else None,
        replica_cpus=settings.replica_cpus,
        limits=ReplicaLimits(max_body_bytes=settings.max_body_bytes),
        # Workers of an embedded cluster run in the server's own environment.
        installed_version=_installed_version if embedded else lambda _name: None,
        runtime_zip=runtime_zip,
    )


def _installed_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
