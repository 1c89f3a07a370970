"""The control plane in one process: real services and routes, by default over SQLite and stores in memory."""

from __future__ import annotations

import asyncio
import copy
import os
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

import roost
from roost.api.artifacts import artifacts_router
from roost.api.bundles import bundles_router
from roost.api.deployments import deployments_router
from roost.api.errors import install_error_handlers
from roost.api.events import events_router
from roost.api.garbage import garbage_router
from roost.api.info import info_router
from roost.api.models import models_router
from roost.api.placement import placement_router
from roost.api.storage import storage_router
from roost.client import Client
from roost.contracts.info import EngineInfo, NodeInfo, ServerInfo, StorageInfo
from roost.errors import EngineUnavailable
from roost.reconcile.deployments import Reconciler
from roost.records.database import Database
from roost.records.tables import METADATA
from roost.records.upgrade import upgrade
from roost.services.artifacts import Artifacts
from roost.services.bundles import Bundles
from roost.services.changes import Changes
from roost.services.clock import SystemClock
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.events import Events
from roost.services.garbage import Garbage
from roost.services.models import Models
from roost.services.placement import Placement
from roost.services.storage import StorageTrial
from roost.serving.plan import IngressOptions
from roost.serving.scale import initial
from roost.serving.settings import ServeSettings
from roost.storage.artifacts import ArtifactStore, StoredArtifacts
from roost.storage.signed import ArtifactSigner
from roost.storage.store import ObjectStore
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore

URL = "http://roost.test"
NODE = NodeInfo(
    node_id="n1",
    name="node-one",
    ip="127.0.0.1",
    alive=True,
    resources={"CPU": 2.0, "memory": 8.0 * 1024**3},
)


class InstantRay:
    """Ray Serve without processes: applications run as soon as they are PUT.

    Attributes:
        broken: By application name, what its constructor raises.
        slow: Names of applications that stay DEPLOYING.
        logs: By application name, what its replicas wrote.
        puts: All bodies that were PUT.
        away: Whether it does not answer.
        nodes: At first one with 2 CPUs and 8 GiB.
    """

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        self.slow: set[str] = set()
        self.logs: dict[str, str] = {}
        self.puts: list[dict[str, Any]] = []
        self.away = False
        self.nodes: list[NodeInfo] = [NODE]
        self._apps: dict[str, dict[str, Any]] = {}

    def get(self) -> dict[str, Any]:
        """The details of all applications."""
        self._check()
        return {"applications": copy.deepcopy(self._apps), "proxies": {}, "target_capacity": None}

    def put(self, body: dict[str, Any]) -> None:
        """Replace the whole set of applications."""
        self._check()
        self.puts.append(copy.deepcopy(body))
        self._apps = {app["name"]: self._shown(app) for app in body["applications"]}

    def replica_log(self, name: str, tail: int) -> str:
        """The last lines of an application's log."""
        self._check()
        return "".join(self.logs.get(name, "").splitlines(keepends=True)[-tail:])

    def list_nodes(self) -> list[NodeInfo]:
        """`nodes`."""
        self._check()
        return list(self.nodes)

    def show(self, name: str, status: str) -> None:
        """Give an application another status of Ray's."""
        self._apps[name]["status"] = status

    def wake(self, name: str) -> None:
        """A request came for an application without replicas: one starts."""
        self._apps[name]["deployments"]["App"]["target_num_replicas"] = 1

    def _shown(self, app: dict[str, Any]) -> dict[str, Any]:
        name = app["name"]
        error = self.broken.get(name, "")
        status = "DEPLOY_FAILED" if error else "DEPLOYING" if name in self.slow else "RUNNING"
        wanted = initial(app)
        count = wanted if status == "RUNNING" else 0
        part = {
            "status": {"RUNNING": "HEALTHY", "DEPLOYING": "UPDATING"}.get(status, status),
            "message": error,
            "target_num_replicas": wanted,
            "replicas": [
                {"replica_id": f"r{n}", "state": "RUNNING", "node_id": "n1", "node_ip": "127.0.0.1"}
                for n in range(count)
            ],
        }
        return {"deployed_app_config": app, "status": status, "message": "", "deployments": {"App": part}}

    def _check(self) -> None:
        if self.away:
            raise EngineUnavailable("Ray does not answer at 'http://ray.test'.")


class InProcessServer:
    """Answers `roost.Client`s without a socket. Close it.

    Args:
        folder: Where the records are.
        database_url: Records of a real server, with its migrations, in place of tables in `folder`.
        objects: Where artifacts are, in place of `store`.

    Attributes:
        requests: Method and path of every call, oldest first.
        down: Whether connections are refused.
        store: Artifacts in memory; unused where `objects` are given.
        storage: What it tells callers of where artifacts are.
    """

    def __init__(
        self, folder: Path, *, database_url: str | None = None, objects: ObjectStore | None = None
    ) -> None:
        self.requests: list[tuple[str, str]] = []
        self.down = False
        self.ray = InstantRay()
        self.store = MemoryStore()
        self.clock = FakeClock()
        self.changes = Changes()
        self.artifacts: ArtifactStore = self.store
        self.storage = StorageInfo(url="memory:///", storage_id="0")
        self.objects = objects or ObjectStore.open("memory:///")
        self.signer = ArtifactSigner(self.objects)
        if objects is not None:
            self.artifacts = StoredArtifacts(objects)
            self.storage = StorageInfo(url=objects.url, storage_id=objects.storage_id())
        self.db = Database(database_url or f"sqlite:///{folder}/roost.db")
        if database_url is None:
            METADATA.create_all(self.db.engine)
        else:
            upgrade(self.db)
        self.view = EngineView(
            self.ray.list_nodes, self.ray.replica_log, monotonic=lambda: self.clock.now().timestamp()
        )
        self.garbage = Garbage(
            self.db,
            objects or ObjectStore.open("memory:///"),
            self.clock,
            holder="in-process",
            grace_s=86_400.0,
        )
        self.models = Models(self.db, self.artifacts, self.clock)
        self.reconciler = Reconciler(
            self.db,
            self.ray,
            self.view,
            self.changes,
            self.clock,
            holder="in-process",
            ingress=IngressOptions(),
        )
        serving = ServeSettings(serve_url="http://serve.test", storage_url=self.storage.url)
        self.placement = Placement(self.db, self.models, self.view, serving, self.clock)
        self.deployments = Deployments(
            self.db,
            self.models,
            self.view,
            serving,
            self.changes,
            self.clock,
            wake=self.reconcile,
        )
        self._transport = httpx2.ASGITransport(app=self._app(), raise_app_exceptions=False)

    def client(self, **options: Any) -> Client:
        """A client of this server."""
        return Client(URL, transport=_Bridge(self), **{"max_retries": 0, **options})

    def reconcile(self) -> None:
        """Bring Ray to the records, and write down what it then shows."""
        self.reconciler.cycle()
        self.reconciler.cycle()

    def settle(self) -> None:
        """Let a minute go by, in which the reconciler is at work."""
        for _ in range(12):
            self.clock.advance(5)
            self.reconciler.cycle()

    def info(self, _exposed: bool = False) -> ServerInfo:
        """What it says of itself."""
        engine = EngineInfo(
            state="unreachable" if self.ray.away else "ready",
            embedded=True,
            dashboard_url="http://ray.test",
            serve_url="http://serve.test",
            message="Ray does not answer." if self.ray.away else "",
            log_dir="/logs",
            nodes=[NODE],
        )
        return ServerInfo(
            version=roost.__version__,
            url=URL,
            home="/home",
            database="sqlite:////home/roost.db",
            storage=self.storage,
            engine=engine,
            models=self.models.count(),
            deployments=len(self.deployments.list().items),
            pid=os.getpid(),
        )

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request through the application. From any thread without a running loop."""
        path = request.url.raw_path.decode()
        self.requests.append((request.method, path))
        if self.down:
            raise httpx2.ConnectError("Connection refused", request=request)
        return asyncio.run(self._send(request.method, path, request.headers, request.read()))

    def close(self) -> None:
        """Close the records."""
        self.changes.close()
        self.db.close()

    async def _send(self, method: str, path: str, headers: httpx2.Headers, body: bytes) -> httpx2.Response:
        request = httpx2.Request(method, f"{URL}{path}", headers=headers, content=body)
        answer = await self._transport.handle_async_request(request)
        content = await answer.aread()
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content)

    def _app(self) -> FastAPI:
        app = FastAPI()
        install_error_handlers(app)
        app.include_router(info_router(self.info))
        app.include_router(models_router(self.models))
        app.include_router(bundles_router(Bundles(self.models, self.artifacts)))
        app.include_router(artifacts_router(Artifacts(self.artifacts, self.signer)))
        app.include_router(storage_router(StorageTrial(self.objects, self.signer, SystemClock())))
        app.include_router(deployments_router(self.deployments, self.changes))
        app.include_router(placement_router(self.placement))
        app.include_router(events_router(Events(self.db), self.changes))
        app.include_router(garbage_router(self.garbage))
        return app


class _Bridge(httpx2.BaseTransport):
    """A synchronous transport into the server's application."""

    def __init__(self, server: InProcessServer) -> None:
        self._server = server

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The server's answer."""
        return self._server.answer(request)
