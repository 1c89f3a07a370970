"""A deployment as callers get it: the record, and clients of its endpoints."""

from __future__ import annotations

import atexit
import math
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import lru_cache
from typing import Any, TypeVar, overload

from roost.client.endpoint_async_client import AsyncEndpointClient, close_streams
from roost.client.endpoint_calls import Endpoints, describe
from roost.client.endpoint_client import EndpointClient
from roost.client.environment import api_key
from roost.client.transport import AsyncTransport, SyncTransport, Target
from roost.contracts import deployment
from roost.contracts.base import Wire
from roost.contracts.endpoint_methods import endpoints_of
from roost.errors import InvalidServable, ValidationFailed
from roost.serve import servable_class

_Servable = TypeVar("_Servable")


class Deployment(deployment.Deployment):
    __doc__ = deployment.Deployment.__doc__

    @overload
    def client(self, *, timeout_s: float | None = None) -> EndpointClient: ...

    @overload
    def client(self, servable: type[_Servable], *, timeout_s: float | None = None) -> _Servable: ...

    def client(self, servable: type | None = None, *, timeout_s: float | None = None) -> Any:
        """A client of the deployment's endpoints, at its own URL: an `EndpointClient`.

        Args:
            servable: The class with the endpoints: the client has its methods, also for type checkers,
                and rebuilds results by their annotations. Without it, the deployment is asked for its
                endpoints, and results are plain JSON values.
            timeout_s: Longest time of a call, of a stream for each item; default 60.

        Raises:
            BadRequest: when the deployment has no endpoints.
            InvalidServable: when `servable` is no class, has no endpoint, or marks something that cannot
                be one.
            ValidationFailed: when `timeout_s` is no positive number.
        """
        _check_timeout(timeout_s)
        known = _endpoints(servable) if servable is not None else None
        transport = _shared_transport(self.url, api_key())
        if known is not None:
            return EndpointClient(transport, known, timeout_s=timeout_s)
        return EndpointClient(transport, transport.run(describe(timeout_s=timeout_s)), timeout_s=timeout_s)

    @overload
    def async_client(
        self, *, timeout_s: float | None = None
    ) -> AbstractAsyncContextManager[AsyncEndpointClient]: ...

    @overload
    def async_client(
        self, servable: type[_Servable], *, timeout_s: float | None = None
    ) -> AbstractAsyncContextManager[_Servable]: ...

    @asynccontextmanager
    async def async_client(
        self, servable: type | None = None, *, timeout_s: float | None = None
    ) -> AsyncIterator[Any]:
        """The asynchronous `client`: `async with deployment.async_client(Greeter) as greeter: ...`."""
        _check_timeout(timeout_s)
        known = _endpoints(servable) if servable is not None else None
        transport = AsyncTransport(Target(self.url, api_key()))
        try:
            if known is None:
                known = await transport.run(describe(timeout_s=timeout_s))
            client = AsyncEndpointClient(transport, known, timeout_s=timeout_s)
            try:
                yield client
            finally:
                await close_streams(client)
        finally:
            await transport.close()


class DeploymentList(Wire):
    """All deployments, ordered by key."""

    items: list[Deployment]


def _endpoints(servable: type) -> Endpoints:
    endpoints = endpoints_of(servable_class(servable))
    if not endpoints:
        raise InvalidServable(
            f"{servable.__module__}.{servable.__qualname__} has no endpoint.",
            hint="Pass the class whose methods are marked with @roost.serve.endpoint, or leave it out.",
        )
    return endpoints


def _check_timeout(timeout_s: float | None) -> None:
    is_number = isinstance(timeout_s, (int, float)) and not isinstance(timeout_s, bool)
    if timeout_s is not None and not (is_number and 0 < timeout_s < math.inf):
        raise ValidationFailed(
            f"timeout_s={timeout_s!r:.80} is not valid: it must be a positive number of seconds.",
            hint="Leave it out for 60 seconds.",
        )


@lru_cache(maxsize=64)
def _shared_transport(url: str, key: str | None) -> SyncTransport:
    """One pool of connections for all clients of a deployment."""
    transport = SyncTransport(Target(url, key))
    atexit.register(transport.close)
    return transport
