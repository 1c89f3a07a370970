"""The ASGI application of one server: its routes around its parts."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI

import roost
from roost.api.artifacts import PREFIX as ARTIFACTS_PREFIX
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
from roost.asgi.body_limit import BodyLimit
from roost.asgi.cross_site import SameSiteOnly
from roost.asgi.types import ASGIApp, Receive, Scope, Send
from roost.capabilities.table import CAPABILITIES
from roost.gateway.app import gateway_app
from roost.gateway.models import models_router as serving_router
from roost.gateway.openapi import describe_inference
from roost.gateway.pool import UpstreamPool
from roost.gateway.probes import probes_router
from roost.hosts import is_loopback
from roost.parts import Parts
from roost.services.artifacts import Artifacts
from roost.services.bundles import Bundles
from roost.services.clock import SystemClock
from roost.services.storage import StorageTrial
from roost.settings import DEFAULT_PORT, Settings
from roost.storage.signed import ArtifactSigner

_log = logging.getLogger("roost")


def create_app(parts: Parts) -> ASGIApp:
    """The whole ASGI application: the data path beside FastAPI."""
    app = _framework(parts)
    describe_inference(app, CAPABILITIES)
    limited = _limited(app, parts.settings.max_body_bytes)
    return gateway_app(_guarded(parts.inference(), parts.settings), _guarded(limited, parts.settings))


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document of a server with default settings, without starting anything."""
    parts = Parts(Settings(home="/nonexistent/roost", database_url="sqlite://", storage_url="memory:///"))
    app = _framework(parts)
    describe_inference(app, CAPABILITIES)
    return app.openapi()


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
    app.include_router(bundles_router(Bundles(parts.models, parts.artifacts)))
    signer = ArtifactSigner(parts.store)
    app.include_router(artifacts_router(Artifacts(parts.artifacts, signer)))
    app.include_router(storage_router(StorageTrial(parts.brief_store, signer, SystemClock())))
    app.include_router(deployments_router(parts.deployments, parts.changes))
    app.include_router(placement_router(parts.placement))
    app.include_router(events_router(parts.events, parts.changes))
    app.include_router(garbage_router(parts.garbage))
    app.include_router(serving_router(parts.routes, parts.interfaces, parts.deployments, parts.declared))
    app.include_router(
        probes_router(parts.routes, version=roost.__version__, startup=parts.startup, cluster=parts.cluster)
    )
    return app


def _guarded(app: ASGIApp, settings: Settings) -> ASGIApp:
    """Keep pages of other sites out."""
    return SameSiteOnly(app, loopback_only=is_loopback(settings.host), allowed_hosts=settings.allowed_hosts)


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
    if parts.settings.port != DEFAULT_PORT:
        _log.info("Callers find it with: export ROOST_URL=%s", parts.settings.url)
