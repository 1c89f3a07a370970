"""The asynchronous client of a deployment with endpoints."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any
from weakref import WeakSet

from roost.client.call import Call
from roost.client.endpoint_calls import Endpoints, as_method, find_endpoint, invoke
from roost.client.transport import AsyncTransport
from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_stream import StreamReader


class AsyncEndpointClient:
    """The asynchronous `EndpointClient`: its methods are awaited, and streams are read by `async for`."""

    __slots__ = ("_endpoints", "_streams", "_timeout_s", "_transport")

    def __init__(self, transport: AsyncTransport, endpoints: Endpoints, *, timeout_s: float | None) -> None:
        self._transport = transport
        self._endpoints = endpoints
        self._timeout_s = timeout_s
        self._streams: WeakSet[AsyncGenerator[Any, None]] = WeakSet()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        endpoint = find_endpoint(self._endpoints, name)

        def method(*given: Any, **named: Any) -> Any:
            call = invoke(endpoint, given, named, timeout_s=self._timeout_s)
            return self._stream(endpoint, call) if endpoint.is_stream else self._transport.run(call)

        bound: Callable[..., Any] = as_method(method, endpoint)
        return bound

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._endpoints]

    def _stream(self, endpoint: Endpoint, call: Call[Any]) -> AsyncGenerator[Any, None]:
        items = self._items(endpoint, call)
        self._streams.add(items)
        return items

    async def _items(self, endpoint: Endpoint, call: Call[Any]) -> AsyncGenerator[Any, None]:
        reader = StreamReader(endpoint.name)
        async with aclosing(self._transport.stream(call)) as pieces:
            async for piece in pieces:
                for item in reader.feed(piece):
                    yield endpoint.load_result(item)
        reader.finish()


async def close_streams(client: AsyncEndpointClient) -> None:
    """Close the streams that were not read to their end, while their connections are there yet."""
    for items in list(client._streams):
        with suppress(RuntimeError):  # another task is reading it, and closes it
            await items.aclose()
