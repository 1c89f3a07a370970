"""The server: settings in, a listening process out."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

import roost
from roost.api.artifacts import PREFIX as ARTIFACTS_PREFIX
from roost.api.artifacts import artifacts_router
from roost.api.deployments import deployments_router
from roost.api.errors import install_error_handlers
from roost.api.info import info_router
from roost.api.models import models_router
from roost.asgi.body_limit import BodyLimit
from roost.asgi.types import ASGIApp, Receive, Scope, Send
from roost.capabilities.table import CAPABILITIES
from roost.daemon import HomeLock
from roost.errors import BadRequest, PortTaken
from roost.gateway.app import gateway_app
from roost.gateway.models import models_router as serving_router
from roost.gateway.openapi import describe_inference
from roost.gateway.pool import UpstreamPool
from roost.gateway.probes import probes_router
from roost.hosts import is_loopback
from roost.logs import configure_logging
from roost.parts import Parts
from roost.services.artifacts import Artifacts
from roost.settings import Settings

_log = logging.getLogger("roost")
_BACKLOG = 2048
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(flags: dict[str, Any]) -> None:
    """Run the server until it is interrupted; the flags win over the environment.

    Raises:
        BadRequest: for a setting that is not valid, or an open server beyond loopback.
        PortTaken: when the address is in use.
        Conflict: when another server runs in this home.
    """
    settings = read_settings(flags)
    configure_logging(settings.log_level)
    check_exposure(settings)
    lock = HomeLock(settings.home_dir)
    lock.take(settings.url)
    # Until the loop runs, SIGTERM ends as Ctrl-C does: by an exception that cleans up on its way.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        listener = listen(settings)
        _log.info("Roost %s listens at %s (home %s)", roost.__version__, settings.url, settings.home_dir)
        _run_parts(Parts(settings), listener)
    except KeyboardInterrupt:
        _log.info("Interrupted")
    finally:
        lock.release()
    _log.info("Roost has stopped")


def create_app(parts: Parts) -> ASGIApp:
    """The whole ASGI application: the data path beside FastAPI."""
    app = _framework(parts)
    describe_inference(app, CAPABILITIES)
    return gateway_app(parts.inference(), _limited(app, parts.settings.max_body_bytes))


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document of a server with default settings, without starting anything."""
    parts = Parts(Settings(home="/nonexistent/roost", database_url="sqlite://", storage_url="memory:///"))
    app = _framework(parts)
    describe_inference(app, CAPABILITIES)
    return app.openapi()


def read_settings(flags: dict[str, Any]) -> Settings:
    """Settings of the environment with the flags laid over them."""
    try:
        return Settings(**flags)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = "ROOST_" + "_".join(str(step) for step in first["loc"]).upper()
        raise BadRequest(f"{name}={first['input']!r} is not valid: {first['msg']}.") from error


def check_exposure(settings: Settings) -> None:
    """Refuse to listen beyond loopback while no key protects the server.

    Raises:
        BadRequest: unless `insecure` is set.
    """
    if settings.insecure or is_loopback(settings.host):
        if not is_loopback(settings.host):
            _log.warning("Everyone who reaches %s may use and change everything (--insecure)", settings.url)
        return
    raise BadRequest(
        f"host {settings.host!r} can be reached from other machines, and no API key protects the server.",
        hint="Listen on 127.0.0.1, or say --insecure if the network is trusted.",
    )


def listen(settings: Settings) -> socket.socket:
    """A listening socket.

    Raises:
        PortTaken: when the address is in use, or is not one of this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise PortTaken(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror or error}.",
            hint="Choose another port with --port, or end what listens there (`ss -ltnp` names it).",
        ) from error
    return listener


class _Server(uvicorn.Server):
    """Lets waiting callers go before it waits for running requests."""

    def __init__(self, config: uvicorn.Config, before_drain: Callable[[], None]) -> None:
        super().__init__(config)
        self._before_drain = before_drain

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain."""
        self._before_drain()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM drain, and are not raised again afterwards: the exit code is then 0."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _run_parts(parts: Parts, listener: socket.socket) -> None:
    try:
        parts.start()
        _serve(parts, listener)
    finally:
        parts.stop()


def _serve(parts: Parts, listener: socket.socket) -> None:
    config = uvicorn.Config(
        create_app(parts),
        loop="uvloop",
        http="httptools",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=round(parts.settings.shutdown_grace_s),
    )
    _Server(config, parts.changes.close).run(sockets=[listener])


def _framework(parts: Parts) -> FastAPI:
    app = FastAPI(
        title="Roost",
        version=roost.__version__,
        lifespan=_lifespan(parts),
        redoc_url=None,
    )
    install_error_handlers(app)
    app.include_router(info_router(parts.info))
    app.include_router(models_router(parts.models))
    app.include_router(artifacts_router(Artifacts(parts.artifacts)))
    app.include_router(deployments_router(parts.deployments, parts.changes))
    app.include_router(serving_router(parts.routes, parts.interfaces, parts.deployments, parts.declared))
    app.include_router(
        probes_router(parts.routes, version=roost.__version__, startup=parts.startup, cluster=parts.cluster)
    )
    return app


def _limited(app: ASGIApp, max_bytes: int) -> ASGIApp:
    """`app` under the body limit; artifacts have one of their own, that of a chunk."""
    held = BodyLimit(app, max_bytes)

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        is_artifact = scope["type"] == "http" and scope["path"].startswith(ARTIFACTS_PREFIX)
        await (app if is_artifact and scope["method"] == "PUT" else held)(scope, receive, send)

    return choose


def _lifespan(parts: Parts) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        started = time.monotonic()
        ready = asyncio.create_task(_say_when_ready(parts, started))
        parts.changes.first(_forget_connections(parts.pool, asyncio.get_running_loop()))
        # What is loaded by now lives as long as the server: collections need not walk it.
        gc.collect()
        gc.freeze()
        yield
        ready.cancel()
        parts.pool.close()
        await asyncio.sleep(0)  # the loop closes the connections in its next turn

    return lifespan


def _forget_connections(pool: UpstreamPool, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """After a change of Serve's routes its HAProxy still serves the connections it has by the old ones."""

    def forget() -> None:
        with suppress(RuntimeError):  # the loop is closed: so are the connections
            loop.call_soon_threadsafe(pool.close)

    return forget


async def _say_when_ready(parts: Parts, started: float) -> None:
    while parts.engine.trouble():  # noqa: ASYNC110  # the engine's thread has no loop to wake
        await asyncio.sleep(0.1)
    _log.info("Ready after %.1f s; Ctrl-C stops it", time.monotonic() - started)
