"""Calls the methods of an instance, whether they are plain or asynchronous, and whether they yield."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from functools import partial
from threading import Lock
from typing import Any, Final

from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_types import first_fault
from roost.errors import ModelError
from roost.replica.endpoint_threads import EndpointThreads
from roost.replica.failures import serving

_END: Final = object()

_log = logging.getLogger("roost.replica")


class EndpointCalls:
    """The endpoints of one instance. Plain methods run in threads, the others in the event loop.

    What is raised by a method is told as `serving` tells it; results and items come as JSON.
    """

    def __init__(self, instance: object, threads: EndpointThreads) -> None:
        self._instance = instance
        self._threads = threads

    async def result(self, endpoint: Endpoint, arguments: Mapping[str, Any]) -> bytes:
        """What the method returns.

        Raises:
            RoostError: as the method raised it; ModelError for any other error, and for a result that is
                not what its annotation says.
        """
        method = getattr(self._instance, endpoint.name)
        with serving(f"the endpoint {endpoint.name!r}"):
            if inspect.iscoroutinefunction(method):
                returned = await method(**arguments)
            else:
                returned = await self._threads.run(partial(_call, endpoint, method, arguments))
                if inspect.isawaitable(returned):
                    returned = await returned
        return _dump(endpoint, returned)

    async def items(self, endpoint: Endpoint, arguments: Mapping[str, Any]) -> AsyncGenerator[bytes, None]:
        """What the method yields. Its generator is closed when this one is.

        Raises:
            RoostError: as `result` raises them.
        """
        method = getattr(self._instance, endpoint.name)
        what = f"the endpoint {endpoint.name!r}"
        with serving(what):
            made: Any = method(**arguments)
        is_async: bool = inspect.isasyncgen(made)
        items = _AsyncItems(made, what) if is_async else _ThreadItems(made, what, self._threads)
        try:
            async for item in items:
                yield _dump(endpoint, item)
        finally:
            await items.close()


class _AsyncItems:
    def __init__(self, generator: AsyncGenerator[Any, None], what: str) -> None:
        self._generator = generator
        self._what = what

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        with serving(self._what):
            item = await anext(self._generator, _END)
        if item is _END:
            raise StopAsyncIteration
        return item

    async def close(self) -> None:
        try:
            await self._generator.aclose()
        except Exception:  # noqa: BLE001  # the caller has what there was, or has left
            _log.exception("%s raised when its stream was closed", self._what)


class _ThreadItems:
    """A plain generator, entered by one thread at a time."""

    def __init__(self, generator: Generator[Any, None, None], what: str, threads: EndpointThreads) -> None:
        self._generator = generator
        self._what = what
        self._threads = threads
        self._entered = Lock()
        self._is_left = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        item = await self._threads.run(self._next)
        if item is _END:
            raise StopAsyncIteration
        return item

    async def close(self) -> None:
        """Let a thread close it: the one that is in it, when it comes out. That is not waited for."""
        self._is_left = True
        if not self._entered.locked():
            self._threads.submit(self._close)

    def _next(self) -> Any:
        try:
            with self._entered, serving(self._what):
                return next(self._generator, _END)
        finally:
            if self._is_left:
                self._close()

    def _close(self) -> None:
        if not self._entered.acquire(blocking=False):
            return
        try:
            self._generator.close()
        except Exception:  # noqa: BLE001  # the caller has what there was, or has left
            _log.exception("%s raised when its stream was closed", self._what)
        finally:
            self._entered.release()


def _call(endpoint: Endpoint, method: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    # In the thread: what it raises may be nothing that an event loop can be handed.
    with serving(f"the endpoint {endpoint.name!r}"):
        return method(**arguments)


def _dump(endpoint: Endpoint, value: object) -> bytes:
    try:
        return endpoint.result.dump(value)
    except Exception as error:  # noqa: BLE001  # a serializer of the author's may raise anything
        what = "yielded" if endpoint.is_stream else "returned"
        _log.exception("the endpoint %r %s what its annotation does not say", endpoint.name, what)
        raise ModelError(
            f"{endpoint.name!r} {what} a value that is not what its annotation says: {first_fault(error)}.",
            hint="The replica's log has the traceback under the request id.",
        ) from None
