"""The engine a server uses: its own embedded Ray, or a cluster that is there already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from urllib.parse import urlsplit

from roost.contracts.info import EngineInfo
from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.embedded.exposure import open_ports
from roost.engine.serve_api import ServeApi
from roost.engine.token import find_token
from roost.errors import BadRequest
from roost.reconcile.engine import EngineKeeper
from roost.reconcile.gate import GatedEngine
from roost.settings import Settings


class Engine(Protocol):
    """What the server needs of either kind.

    Attributes:
        access: The way to Ray.
        serve_url: Where deployments answer, without a trailing slash.
    """

    access: GatedEngine
    serve_url: str

    def start(self) -> None:
        """Begin; returns at once."""
        ...

    def stop(self) -> None:
        """Stop only what was started here."""
        ...

    def trouble(self) -> str:
        """Why Ray cannot be asked yet; empty when it can."""
        ...

    def info(self) -> EngineInfo:
        """How it stands, without asking Ray."""
        ...

    def exposed(self) -> list[str]:
        """Listeners that can be reached from other machines."""
        ...


class EmbeddedEngine:
    """An embedded cluster and its keeper."""

    def __init__(self, settings: Settings, on_ready: Callable[[], None]) -> None:
        self._cluster = EmbeddedCluster(
            settings.home_dir,
            num_cpus=settings.num_cpus,
            num_gpus=settings.num_gpus,
            timeout_s=settings.start_timeout_s,
        )
        self._cluster.reserve()
        self._keeper = EngineKeeper(self._cluster, on_ready)
        self.serve_url = self._cluster.serve_url
        self.access = GatedEngine(ServeApi(self._cluster.dashboard_url, self._cluster.token), self.trouble)

    def start(self) -> None:
        """Adopt or start the cluster, in the background."""
        self._keeper.start()

    def stop(self) -> None:
        """End the cluster."""
        self._keeper.stop()

    def trouble(self) -> str:
        """Why Ray cannot be asked yet."""
        return "" if self._keeper.state == "ready" else self._keeper.message or "Ray is starting."

    def info(self) -> EngineInfo:
        """How the cluster stands."""
        log_dir = self._keeper.find_log_dir()
        return EngineInfo(
            state=self._keeper.state,
            embedded=True,
            dashboard_url=self.access.dashboard_url,
            serve_url=self.serve_url,
            message=self._keeper.message,
            log_dir=str(log_dir) if log_dir is not None else None,
        )

    def exposed(self) -> list[str]:
        """Listeners of the cluster beyond loopback."""
        if self._keeper.state != "ready":
            return []
        return [f"{port.process} on {port.address}:{port.port}" for port in open_ports(self._cluster)]


class ExistingEngine:
    """A cluster that somebody else runs; it is never stopped."""

    def __init__(self, settings: Settings, on_ready: Callable[[], None]) -> None:
        url = settings.ray_dashboard_url or ""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadRequest(
                f"Ray dashboard URL {url!r} is not valid.",
                hint="Write it as http://host:8265 (--ray-dashboard).",
            )
        token = settings.ray_token.get_secret_value() if settings.ray_token else None
        self.serve_url = (settings.serve_url or f"http://{parts.hostname}:8000").rstrip("/")
        self.access = GatedEngine(ServeApi(url, find_token(token)), self.trouble)
        self._on_ready = on_ready

    def start(self) -> None:
        """Nothing is to be started."""
        self._on_ready()

    def stop(self) -> None:
        """It goes on, with all its deployments."""

    def trouble(self) -> str:
        """It may always be asked."""
        return ""

    def info(self) -> EngineInfo:
        """Where it is."""
        return EngineInfo(
            state="ready", embedded=False, dashboard_url=self.access.dashboard_url, serve_url=self.serve_url
        )

    def exposed(self) -> list[str]:
        """Its listeners are its owner's."""
        return []


def open_engine(settings: Settings, on_ready: Callable[[], None]) -> Engine:
    """The engine the settings ask for; `on_ready` is called each time an embedded Ray is up."""
    return (
        ExistingEngine(settings, on_ready)
        if settings.ray_dashboard_url
        else EmbeddedEngine(settings, on_ready)
    )
