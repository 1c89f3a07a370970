"""Forwards one request to a deployment's own URL, bytes streamed both ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from roost.asgi.responses import send_error
from roost.asgi.types import Receive, Scope, Send, find_header
from roost.errors import BadRequest, RoostError, Timeout, Unavailable
from roost.gateway.exchange import Watch
from roost.gateway.headers import request_head, request_line
from roost.gateway.pool import Origin, UpstreamPool
from roost.gateway.table import RouteView
from roost.gateway.upstream import Upstream, UpstreamLost
from roost.keys import DeploymentKey

_MAX_TARGETS: Final = 4096
_MAY_HAVE_RUN: Final = "The request may have run: look at `roost logs` before sending it again."


@dataclass(frozen=True, slots=True)
class Body:
    """What has been read of a request's body, and whether more comes through `receive`."""

    pieces: Sequence[bytes]
    more: bool


class Forwarder:
    """Forwards requests; belongs to one event loop.

    A request is sent a second time only if nothing of it was sent the first time.

    Attributes:
        in_flight: Requests being forwarded now.

    Args:
        margin_s: What an answer may be late beyond the route's own time-out, so that the replica's
            own error, which frees its slot, comes first.
        is_held: Whether requests to a deployment may now be held until a replica is up. That time does
            not count.
        find_lack: What no node has that a replica of a deployment needs; empty when one may start.
    """

    def __init__(
        self,
        pool: UpstreamPool | None = None,
        *,
        margin_s: float = 2.0,
        is_held: Callable[[DeploymentKey], bool] = lambda _key: False,
        find_lack: Callable[[DeploymentKey], str] = lambda _key: "",
    ) -> None:
        self._pool = pool or UpstreamPool()
        self._margin_s = margin_s
        self._is_held = is_held
        self._find_lack = find_lack
        self._targets: dict[tuple[str, str], tuple[Origin, bytes]] = {}
        self.in_flight = 0

    async def forward(
        self, scope: Scope, receive: Receive, send: Send, *, route: RouteView, path: str, body: Body
    ) -> None:
        """POST to `path` below the route's URL and pass the answer on.

        Raises:
            Unavailable: when the upstream cannot be reached or ends before its answer is complete, or no
                answer came in time because no node can hold a replica.
            Timeout: when nothing moves for the route's time-out, or for 10 minutes longer while it is held.
            ClientGone: when the caller leaves; the upstream connection is closed then.
        """
        origin, first = self._target(route.url, path)
        request_id: str = scope["state"]["request_id"]
        length = _length(scope, body)
        head = request_head(first, scope["headers"], request_id, length)
        self.in_flight += 1
        try:
            upstream = self._pool.take(origin) or await self._connect(origin, route)
            try:
                upstream.start(head, body.pieces, complete=not body.more, chunked=length is None)
                watch = Watch(
                    upstream,
                    receive,
                    more_body=body.more,
                    timeout_s=route.timeout_s + self._margin_s,
                    is_held=partial(self._is_held, route.key),
                )
                try:
                    await _answer(upstream, send, request_id, route)
                finally:
                    watch.stop()
            except UpstreamLost as lost:
                raise _cut(lost, route) from lost
            except Timeout as late:
                lack = self._find_lack(route.key)
                raise _nowhere(route, lack) if lack else late from late
            finally:
                self._pool.release(origin, upstream)
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        """Close the idle connections; call it in the event loop, before that ends."""
        self._pool.close()
        await asyncio.sleep(0)  # transports close in the next turn

    def _target(self, url: str, path: str) -> tuple[Origin, bytes]:
        target = self._targets.get((url, path))
        if target is None:
            if len(self._targets) >= _MAX_TARGETS:
                self._targets.clear()
            target = self._targets[url, path] = (Origin.of(url), request_line("POST", url, path))
        return target

    async def _connect(self, origin: Origin, route: RouteView) -> Upstream:
        try:
            return await self._pool.connect(origin)
        except OSError as error:
            raise Unavailable(
                f"deployment {route.name!r} cannot be reached.",
                hint="It may be starting or Ray may be down: see `roost status`.",
                context={"url": route.url, "cause": repr(error)},
                retry_after_s=1,
            ) from error


async def _answer(upstream: Upstream, send: Send, request_id: str, route: RouteView) -> None:
    await upstream.answered()
    if upstream.status >= 400 and not upstream.content_type.startswith(b"application/json"):
        # Ray's ingress, not a replica: replicas answer every error in the envelope.
        await send_error(send, _ingress_error(upstream, route), request_id)
        return
    await send({"type": "http.response.start", "status": upstream.status, "headers": upstream.headers})
    last = False
    while not last:
        piece, last = await upstream.piece()
        await send({"type": "http.response.body", "body": piece, "more_body": not last})


def _length(scope: Scope, body: Body) -> int | None:
    if not body.more:
        return sum(map(len, body.pieces))
    declared = find_header(scope, b"content-length")
    if declared is None:
        return None
    if not declared.isdigit() or len(declared) > 20:
        raise BadRequest(f"Content-Length {declared[:40].decode('latin-1')!r} is not a number.")
    return int(declared)


def _nowhere(route: RouteView, lack: str) -> Unavailable:
    return Unavailable(
        f"deployment {route.name!r} has no replica, and none can start.",
        hint=f"{lack} Join a node that has it (`roost node`).",
        context={"url": route.url},
    )


def _cut(lost: UpstreamLost, route: RouteView) -> Unavailable:
    return Unavailable(
        f"deployment {route.name!r} ended the connection before its answer was complete.",
        hint=_MAY_HAVE_RUN,
        context={"url": route.url, "cause": str(lost)},
    )


def _ingress_error(upstream: Upstream, route: RouteView) -> RoostError:
    context = {"url": route.url, "status": upstream.status}
    if upstream.status in (408, 504):
        return Timeout(f"deployment {route.name!r} did not answer in time.", context=context)
    after = next((value for name, value in upstream.headers if name == b"retry-after"), b"")
    if upstream.status == 404:  # it has no route there yet, so nothing ran
        after = after or b"1"
    if not (after.isdigit() and len(after) < 8):
        # HAProxy gives one answer, whether no replica took the request or one died over it.
        return Unavailable(f"deployment {route.name!r} gave no answer.", hint=_MAY_HAVE_RUN, context=context)
    return Unavailable(
        f"deployment {route.name!r} has no replica that takes the request now.",
        hint="It may be starting, full or failing: see `roost deployments` and `roost logs`.",
        context=context,
        retry_after_s=float(after),
    )
