"""Brings a replica up from its spec alone: artifacts, code, instance, ASGI app."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roost.asgi.body_limit import BodyLimit
from roost.asgi.types import ASGIApp
from roost.bundle.unpack import unpack
from roost.capabilities.policy import MediaPolicy
from roost.capabilities.table import get_capability
from roost.contracts.endpoint_document import write_document
from roost.contracts.endpoint_methods import endpoints_of
from roost.contracts.replica import ReplicaSpec
from roost.replica.context import ReplicaContext, set_current
from roost.replica.endpoint_app import EndpointApp
from roost.replica.endpoint_calls import EndpointCalls
from roost.replica.endpoint_threads import EndpointThreads
from roost.replica.failures import starting
from roost.replica.inference_app import InferenceApp
from roost.replica.lifespan import Lifespan
from roost.replica.servable import import_servable
from roost.replica.serve_app import build_serve_app
from roost.replica.served_model import ServedModel
from roost.replica.stack import WithState, build_stack
from roost.storage.artifacts import StoredArtifacts
from roost.storage.node_cache import NodeCache, default_cache_dir
from roost.storage.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Replica:
    """A servable that is up.

    Attributes:
        app: Answers requests below its mount path; its lifespan's shutdown takes the servable down.
        check_health: Raises when the servable cannot answer any more.
    """

    app: ASGIApp
    check_health: Callable[[], Awaitable[None]]


async def start(spec: ReplicaSpec) -> Replica:
    """Fetch and verify the artifacts, import the servable, make its one instance, start its app.

    Raises:
        ModelDeployFailed: naming the step that failed, with the type and text of the error.
    """
    ref = spec.servable
    bundle, weights = await asyncio.to_thread(_fetch, spec)
    set_current(ReplicaContext(spec, weights))
    with starting(f"Importing {ref.class_path!r}"):
        servable = await asyncio.to_thread(import_servable, ref, bundle)
    if ref.kind == "inference_model":
        return await _start_model(servable, spec, weights)
    if ref.kind == "endpoint":
        return _start_endpoints(servable, spec)
    return await _start_serve_app(servable, spec)


def _fetch(spec: ReplicaSpec) -> tuple[Path, Path | None]:
    with starting(f"Opening the storage {spec.storage_url!r}"):
        artifacts = StoredArtifacts(ObjectStore.open(spec.storage_url))
        cache = NodeCache(Path(spec.cache_dir) if spec.cache_dir else default_cache_dir())
    fingerprint = spec.servable.bundle_fingerprint
    with starting("Fetching the bundle"):
        bundle = cache.bundle(fingerprint, artifacts, lambda data, target: unpack(data, fingerprint, target))
    if spec.weights_digest is None:
        return bundle, None
    with starting("Fetching the weights"):
        return bundle, cache.weights(spec.weights_digest, artifacts)


async def _start_model(servable: type, spec: ReplicaSpec, weights: Path | None) -> Replica:
    capability = get_capability(spec.servable.capability or "")
    limits = spec.limits
    model = ServedModel(
        servable,
        spec.key,
        capability=capability,
        policy=MediaPolicy(max_image_pixels=limits.max_image_pixels, max_bytes=limits.max_body_bytes),
        timeout_s=limits.timeout_s or capability.default_timeout_s,
    )
    try:
        await model.load(weights, spec.config)
    except BaseException:
        await model.close()
        raise
    return Replica(
        build_stack(InferenceApp(model, limits), close=model.close, version=spec.version), model.check_health
    )


async def _start_serve_app(servable: type, spec: ReplicaSpec) -> Replica:
    name = spec.servable.class_path
    # Not in a thread: a constructor may want the running event loop, as in any Serve deployment.
    with starting(f"The constructor of {name!r}"):
        instance = servable(spec.key)
    with starting(f"The app of {name!r}"):
        app = build_serve_app(instance)
    lifespan = Lifespan(app)
    with starting(f"The start-up of the app of {name!r}"):
        await lifespan.start()
    if lifespan.state:
        app = WithState(app, lifespan.state)

    async def close() -> None:
        await lifespan.stop()
        await _call_if_defined(instance, "unload")

    async def check_health() -> None:
        await _call_if_defined(instance, "check_health")

    return Replica(
        build_stack(BodyLimit(app, spec.limits.max_body_bytes), close=close, version=spec.version),
        check_health,
    )


def _start_endpoints(servable: type, spec: ReplicaSpec) -> Replica:
    name = spec.servable.class_path
    with starting(f"Reading the endpoints of {name!r}"):
        endpoints = endpoints_of(servable)
        document = write_document(
            endpoints,
            title=servable.__qualname__,
            doc=inspect.getdoc(servable) or "",
            version=spec.version,
            path=spec.key.route_prefix,
        )
    with starting(f"The constructor of {name!r}"):
        instance = servable(spec.key)
    threads = EndpointThreads()

    async def close() -> None:
        threads.close()
        await _call_if_defined(instance, "unload")

    async def check_health() -> None:
        threads.check()
        await _call_if_defined(instance, "check_health")

    app = EndpointApp(EndpointCalls(instance, threads), endpoints, document, spec.limits)
    return Replica(build_stack(app, close=close, version=spec.version), check_health)


async def _call_if_defined(instance: object, name: str) -> None:
    method: Callable[[], Any] | None = getattr(instance, name, None)
    if method is None:
        return
    if inspect.iscoroutinefunction(method):
        await method()
    else:
        await asyncio.to_thread(method)
