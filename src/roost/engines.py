"""The engine a server uses: its own embedded Ray, or a cluster that is there already."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Protocol
from urllib.parse import SplitResult, urlsplit

from roost.bundle.runtime_zip import pack_runtime
from roost.contracts.info import EngineInfo
from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.embedded.exposure import open_ports
from roost.engine.embedded.host import check_host
from roost.engine.hardware import Cards, fake_cards, measure_cards
from roost.engine.serve_api import ServeApi
from roost.engine.serve_check import find_serve_trouble
from roost.engine.token import find_token
from roost.engine.worker_runtime import runtime_uri, store_runtime
from roost.errors import BadRequest, RoostError
from roost.hosts import is_loopback
from roost.reconcile.engine import EngineKeeper
from roost.reconcile.gate import GatedEngine
from roost.reconcile.loop import Loop
from roost.serving.plan import IngressOptions
from roost.settings import Settings
from roost.storage.store import ObjectStore

_log = logging.getLogger("roost.engine")

_STORE_RETRY_S: Final = 5.0
_STORE_CHECK_S: Final = 3600.0
_SERVE_PORT: Final = 8000


class Engine(Protocol):
    """What the server needs of either kind.

    Attributes:
        access: The way to Ray.
        serve_url: Where deployments answer, without a trailing slash.
        ingress: Where Serve is to listen when the first PUT starts it.
        runtime_zip: What workers download to run this version; None where they have it from the server.
    """

    access: GatedEngine
    serve_url: str
    ingress: IngressOptions
    runtime_zip: str | None

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

    def find_fault(self) -> str:
        """What is wrong although Ray answers, asked now; empty when nothing is."""
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
            cards=_cards(settings),
            host=check_host(settings.cluster_host, flag="--cluster-host"),
            token=settings.ray_token.get_secret_value() if settings.ray_token else None,
            timeout_s=settings.start_timeout_s,
        )
        self._cluster.reserve()
        _say_how_to_join(settings, self._cluster.address)
        self._keeper = EngineKeeper(self._cluster, on_ready)
        self.serve_url = self._cluster.serve_url
        self.ingress = IngressOptions()  # Serve is started with the cluster
        self.runtime_zip: str | None = None
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

    def find_fault(self) -> str:
        """Its Serve listens where it was told to."""
        return ""

    def exposed(self) -> list[str]:
        """Listeners of the cluster beyond loopback."""
        if self._keeper.state != "ready":
            return []
        return [f"{port.process} on {port.address}:{port.port}" for port in open_ports(self._cluster)]


class ExistingEngine:
    """A cluster that somebody else runs; it is never stopped.

    Its workers get the replica runtime from the storage, where it is stored in the background: a storage
    that is away does not keep the server from starting.
    """

    def __init__(self, settings: Settings, store: ObjectStore, on_ready: Callable[[], None]) -> None:
        dashboard = _checked_url("Ray dashboard", settings.ray_dashboard_url or "", "--ray-dashboard")
        url = settings.serve_url or f"http://{_netloc(dashboard)}:{_SERVE_PORT}"
        serve = _checked_url("Serve", url, "--serve-url")
        token = settings.ray_token.get_secret_value() if settings.ray_token else None
        self.serve_url = url.rstrip("/")
        self.ingress = _ingress_for(serve)
        self._store = store
        self._runtime = pack_runtime()
        self.runtime_zip: str | None = runtime_uri(store.url, self._runtime)
        self.access = GatedEngine(ServeApi(dashboard.geturl(), find_token(token)), self.trouble)
        self._on_ready = on_ready
        self._store_trouble = ""
        self._shipping = Loop(self._ship, name="roost-runtime")

    def start(self) -> None:
        """Nothing but the runtime's storing is to be started."""
        self._shipping.start()
        self._on_ready()

    def stop(self) -> None:
        """It goes on, with all its deployments."""
        self._shipping.stop(0.5)

    def trouble(self) -> str:
        """It may always be asked."""
        return ""

    def info(self) -> EngineInfo:
        """Where it is."""
        return EngineInfo(
            state="ready", embedded=False, dashboard_url=self.access.dashboard_url, serve_url=self.serve_url
        )

    def find_fault(self) -> str:
        """Whether the runtime is stored, Ray has Serve, and that listens at `serve_url`."""
        if self._store_trouble:
            return self._store_trouble
        try:
            return find_serve_trouble(self.access.get(), self.serve_url)
        except RoostError as error:
            return str(error)

    def exposed(self) -> list[str]:
        """Its listeners are its owner's."""
        return []

    def _ship(self) -> float:
        try:
            stored = store_runtime(self._store, self._runtime)
        except RoostError as error:
            self._store_trouble = f"The replica runtime could not be stored; it is tried again: {error}"
            _log.warning("%s", self._store_trouble)
            return _STORE_RETRY_S
        self._store_trouble = ""
        if stored:
            _log.info("The replica runtime for the workers is stored: %s", self.runtime_zip)
        return _STORE_CHECK_S


def open_engine(settings: Settings, store: ObjectStore, on_ready: Callable[[], None]) -> Engine:
    """The engine the settings ask for; `on_ready` is called each time an embedded Ray is up."""
    return (
        ExistingEngine(settings, store, on_ready)
        if settings.ray_dashboard_url
        else EmbeddedEngine(settings, on_ready)
    )


def _cards(settings: Settings) -> Cards:
    cards = fake_cards(settings.fake_gpus) if settings.fake_gpus else measure_cards()
    if cards.count:
        _log.info("Cards of this machine: %s", "; ".join((str(cards), *cards.notes)))
    return cards


def _say_how_to_join(settings: Settings, address: str) -> None:
    if is_loopback(settings.cluster_host):
        return
    _log.info("Other machines join with `roost node --address %s` and the token of this cluster", address)
    if settings.resolved_storage_url.startswith("file:"):
        _log.warning(
            "The storage %s is a folder: every machine that joins must have it, shared, at the same path. "
            "Use s3://, gs:// or az:// (--storage) where that is not so",
            settings.resolved_storage_url,
        )


def _checked_url(what: str, url: str, flag: str) -> SplitResult:
    hint = f"Write it as http://host:port ({flag})."
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise BadRequest(f"{what} URL {url!r} is not valid: {error}.", hint=hint) from error
    if not is_valid:
        raise BadRequest(f"{what} URL {url!r} is not valid.", hint=hint)
    return parts


def _netloc(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host


def _ingress_for(serve: SplitResult) -> IngressOptions:
    """Where a Serve that does not run yet is made to listen, so that `serve_url` leads to it.

    Behind a load balancer (https, or no port) the port is not known: Ray's default then.
    """
    port = serve.port if serve.scheme == "http" and serve.port else _SERVE_PORT
    host = "127.0.0.1" if is_loopback(serve.hostname) else "0.0.0.0"  # noqa: S104  # its callers are elsewhere
    return IngressOptions(http_options={"host": host, "port": port})
