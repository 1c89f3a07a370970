"""A deployment as callers get it: the record, and clients of its endpoints."""

from __future__ import annotations

import atexit
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
            InvalidServable: when `servable` marks something that cannot be one.
        """
        transport = _shared_transport(self.url, api_key())
        if servable is not None:
            return EndpointClient(transport, endpoints_of(servable), timeout_s=timeout_s)
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
        transport = AsyncTransport(Target(self.url, api_key()))
        try:
            endpoints: Endpoints
            if servable is not None:
                endpoints = endpoints_of(servable)
            else:
                endpoints = await transport.run(describe(timeout_s=timeout_s))
            client = AsyncEndpointClient(transport, endpoints, timeout_s=timeout_s)
            try:
                yield client
            finally:
                await close_streams(client)
        finally:
            await transport.close()


class DeploymentList(Wire):
    """All deployments, ordered by key."""

    items: list[Deployment]


@lru_cache(maxsize=64)
def _shared_transport(url: str, key: str | None) -> SyncTransport:
    """One pool of connections for all clients of a deployment."""
    transport = SyncTransport(Target(url, key))
    atexit.register(transport.close)
    return transport
