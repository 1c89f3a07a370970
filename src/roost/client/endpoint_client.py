"""The synchronous client of a deployment with endpoints."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

from roost.client.call import Call
from roost.client.endpoint_calls import Endpoints, as_method, find_endpoint, invoke
from roost.client.transport import SyncTransport
from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_stream import StreamReader


class EndpointClient:
    """Calls a deployment's endpoints: its methods are theirs, with the same parameters.

    A method returns the endpoint's result, or an iterator over the items of a stream, which is sent
    for at the first `next`. A call that does not fit the parameters is refused before it is sent; every
    failure is a `RoostError`. A stream that was cut raises, it never just ends.
    """

    __slots__ = ("_endpoints", "_timeout_s", "_transport")

    def __init__(self, transport: SyncTransport, endpoints: Endpoints, *, timeout_s: float | None) -> None:
        self._transport = transport
        self._endpoints = endpoints
        self._timeout_s = timeout_s

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        endpoint = find_endpoint(self._endpoints, name)

        def method(*given: Any, **named: Any) -> Any:
            call = invoke(endpoint, given, named, timeout_s=self._timeout_s)
            return self._items(endpoint, call) if endpoint.is_stream else self._transport.run(call)

        bound: Callable[..., Any] = as_method(method, endpoint)
        return bound

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._endpoints]

    def _items(self, endpoint: Endpoint, call: Call[Any]) -> Generator[Any, None, None]:
        reader = StreamReader(endpoint.name)
        with closing(self._transport.stream(call)) as pieces:
            for piece in pieces:
                for item in reader.feed(piece):
                    yield endpoint.load_result(item)
        reader.finish()
