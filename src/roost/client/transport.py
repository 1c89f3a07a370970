"""The seam to HTTP: sends calls, maps every failure to a `RoostError`, retries what cannot have run.

A request is sent again only when it cannot have run: the connection could not be made, or the
server said 429, 502 or 503 with `Retry-After`. A time-out of a sent request is never replayed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import ValidationError

from roost.client.call import Call
from roost.contracts.error import ErrorBody
from roost.errors import BadRequest, InternalError, RoostError, ServerUnreachable, Timeout, Unavailable
from roost.hosts import is_loopback

Result = TypeVar("Result")

DEFAULT_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 5.0
MAX_RETRY_AFTER_S = 10.0
_RETRY_STATUSES = frozenset({429, 502, 503})


@dataclass(frozen=True, slots=True)
class Target:
    """Where the server is and how often a call that cannot have run is sent again."""

    url: str
    api_key: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    max_retries: int = 2

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise BadRequest(
                f"server URL {self.url!r} is not valid: it must start with http:// or https://.",
                hint="Set ROOST_URL, for example http://127.0.0.1:7463.",
            )
        if self.api_key and not self.api_key.isprintable():
            raise BadRequest(
                "The API key holds a line break or another control character.", hint="Check ROOST_API_KEY."
            )

    def options(self) -> dict[str, Any]:
        """What the HTTP client is made with. Proxies of the environment are not asked for loopback."""
        headers = {b"Accept": b"application/json", b"User-Agent": b"roost-client"}
        if self.api_key:
            headers[b"X-API-Key"] = self.api_key.encode()
        return {
            "base_url": self.url.rstrip("/"),
            "headers": headers,
            "timeout": httpx2.Timeout(self.timeout_s, connect=CONNECT_TIMEOUT_S),
            "trust_env": not is_loopback(urlsplit(self.url).hostname),
            "limits": httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0),
        }


class SyncTransport:
    """Runs calls over a pool of connections. Safe to share between threads."""

    def __init__(self, target: Target, transport: httpx2.BaseTransport | None = None) -> None:
        self._target = target
        self._http = httpx2.Client(transport=transport, **target.options())

    def run(self, call: Call[Result]) -> Result:
        """Send `call` and read its answer; every failure is a `RoostError`."""
        attempt = 0
        while True:
            try:
                response = self._http.request(**_arguments(call, self._target))
            except httpx2.TransportError as error:
                wait_s = _wait_before_resend(error, attempt, self._target)
            else:
                if response.is_success:
                    return call.parse(response.content)
                wait_s = _wait_after_refusal(response, attempt, self._target)
            time.sleep(wait_s)
            attempt += 1

    def stream(self, call: Call[Any]) -> Generator[bytes, None, None]:
        """Send `call` at the first `next`; the pieces of its answer as they come. Close it when it is left.

        Every failure is a `RoostError`; one after the first piece is never sent again.
        """
        attempt = 0
        while True:
            try:
                with self._http.stream(**_arguments(call, self._target)) as response:
                    if response.is_success:
                        yield from response.iter_bytes()
                        return
                    response.read()
            except httpx2.TransportError as error:
                wait_s = _wait_before_resend(error, attempt, self._target)
            else:
                wait_s = _wait_after_refusal(response, attempt, self._target)
            time.sleep(wait_s)
            attempt += 1

    def close(self) -> None:
        """Close the pool."""
        self._http.close()


class AsyncTransport:
    """The asynchronous `SyncTransport`."""

    def __init__(self, target: Target, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._target = target
        self._http = httpx2.AsyncClient(transport=transport, **target.options())

    async def run(self, call: Call[Result]) -> Result:
        """Send `call` and read its answer; every failure is a `RoostError`."""
        attempt = 0
        while True:
            try:
                response = await self._http.request(**_arguments(call, self._target))
            except httpx2.TransportError as error:
                wait_s = _wait_before_resend(error, attempt, self._target)
            else:
                if response.is_success:
                    return call.parse(response.content)
                wait_s = _wait_after_refusal(response, attempt, self._target)
            await asyncio.sleep(wait_s)
            attempt += 1

    async def stream(self, call: Call[Any]) -> AsyncGenerator[bytes, None]:
        """As `SyncTransport.stream`."""
        attempt = 0
        while True:
            try:
                async with self._http.stream(**_arguments(call, self._target)) as response:
                    if response.is_success:
                        async for piece in response.aiter_bytes():
                            yield piece
                        return
                    await response.aread()
            except httpx2.TransportError as error:
                wait_s = _wait_before_resend(error, attempt, self._target)
            else:
                wait_s = _wait_after_refusal(response, attempt, self._target)
            await asyncio.sleep(wait_s)
            attempt += 1

    async def close(self) -> None:
        """Close the pool."""
        await self._http.aclose()


def _arguments(call: Call[Any], target: Target) -> dict[str, Any]:
    arguments: dict[str, Any] = {"method": call.method, "url": call.path, "params": call.params or None}
    if call.parts:
        arguments["files"] = list(call.parts)
    elif call.content is not None:
        arguments["content"] = call.content
        arguments["headers"] = {"Content-Type": call.content_type}
    if call.timeout_s is not None:
        arguments["timeout"] = httpx2.Timeout(
            call.timeout_s, connect=min(CONNECT_TIMEOUT_S, target.timeout_s)
        )
    return arguments


def _wait_before_resend(error: httpx2.TransportError, attempt: int, target: Target) -> float:
    """Seconds to wait when the request cannot have been sent; raises otherwise."""
    never_sent = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout))
    if never_sent and attempt < target.max_retries:
        return 0.1 * 3.0**attempt
    raise _transport_failure(error, target) from error


def _transport_failure(error: httpx2.TransportError, target: Target) -> RoostError:
    if isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        return ServerUnreachable(
            f"No Roost server answers at {target.url!r}.",
            hint="Start one with `roost up`, or set ROOST_URL to where it runs.",
        )
    if isinstance(error, httpx2.TimeoutException):
        return Timeout(
            f"{target.url!r} did not answer in the time given; the request may still be running.",
            hint="Pass a longer timeout, or look at `roost status`.",
        )
    return Unavailable(
        f"The connection to {target.url!r} was cut: {str(error) or type(error).__name__}.",
        hint="The request may have run; check before you send it again.",
    )


def _wait_after_refusal(response: httpx2.Response, attempt: int, target: Target) -> float:
    """Seconds to wait when the server asks to come back; raises the server's error otherwise."""
    retry_after_s = _retry_after(response)
    if (
        response.status_code in _RETRY_STATUSES
        and retry_after_s is not None
        and retry_after_s <= MAX_RETRY_AFTER_S
        and attempt < target.max_retries
    ):
        return retry_after_s
    raise _refusal(response, retry_after_s, target)


def _retry_after(response: httpx2.Response) -> float | None:
    try:
        value = float(response.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return max(value, 0.0)


def _refusal(response: httpx2.Response, retry_after_s: float | None, target: Target) -> RoostError:
    try:
        error = ErrorBody.model_validate_json(response.content).to_exception()
    except ValidationError:
        error = _foreign_refusal(response, target)
    error.retry_after_s = retry_after_s
    return error


def _foreign_refusal(response: httpx2.Response, target: Target) -> RoostError:
    """An error that Roost did not write: a proxy between, or another program on the port."""
    kind: type[RoostError] = Unavailable if response.status_code in {502, 503, 504} else InternalError
    return kind(
        f"{target.url!r} answered HTTP {response.status_code} without a Roost error body.",
        hint="Something other than Roost may listen there; check ROOST_URL.",
    )
