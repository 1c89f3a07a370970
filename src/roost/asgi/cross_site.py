"""Keeps web pages of other sites from using a server that their reader can reach."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from roost.asgi.responses import send_error
from roost.asgi.types import ASGIApp, Receive, Scope, Send, find_header
from roost.errors import Forbidden, RoostError
from roost.hosts import is_loopback

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class SameSiteOnly:
    """Refuses writes that a browser sends for a page of another site.

    A browser adds `Origin` to every such write, and a page can neither leave it out nor forge it;
    programs send none. With `loopback_only`, requests for a host name that does not mean this
    machine are refused as well: a name that was pointed at 127.0.0.1 makes a foreign page look
    like one of our own.

    Args:
        allowed_hosts: Further host names, without a port, that a request may be addressed to.
    """

    def __init__(self, app: ASGIApp, *, loopback_only: bool, allowed_hosts: Collection[str] = ()) -> None:
        self._app = app
        self._loopback_only = loopback_only
        self._allowed = frozenset(allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        error = self._find_fault(scope)
        if error is None:
            await self._app(scope, receive, send)
        else:
            await send_error(send, error, scope["state"]["request_id"])

    def _find_fault(self, scope: Scope) -> RoostError | None:
        authority = (find_header(scope, b"host") or b"").decode("latin-1")
        if self._loopback_only and authority and not self._is_known(_host(authority)):
            return Forbidden(
                f"The request is for the host {authority[:200]!r}, which is not this machine.",
                hint="Use 127.0.0.1 or localhost, or list the name in ROOST_ALLOWED_HOSTS.",
            )
        origin = find_header(scope, b"origin")
        if origin is None or scope["method"] in _SAFE:
            return None
        site = origin.decode("latin-1").partition("://")[2]
        if site == authority:
            return None
        return Forbidden(
            f"A page of {origin[:200].decode('latin-1')!r} may not write here.",
            hint="Call Roost from a program, or from a page that it serves itself.",
        )

    def _is_known(self, host: str) -> bool:
        return is_loopback(host) or host in self._allowed


def _host(authority: str) -> str:
    """`[::1]:7463` → `::1`, `localhost:7463` → `localhost`."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.rpartition(":")[0] if ":" in authority else authority
