"""Puts the inference routes beside everything else the server answers."""

from __future__ import annotations

from roost.asgi.boundary import ErrorBoundary
from roost.asgi.types import ASGIApp, Receive, Scope, Send
from roost.gateway.inference import PREFIX


def gateway_app(inference: ASGIApp, otherwise: ASGIApp) -> ASGIApp:
    """One app: `inference` for `/v1/inference/`, `otherwise` (FastAPI) for the rest and for lifespan.

    Inference skips the framework, which would cost more than the forwarding itself. Both stand
    inside one `ErrorBoundary`.
    """

    async def split(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            await inference(scope, receive, send)
        else:
            await otherwise(scope, receive, send)

    return ErrorBoundary(split, "roost.gateway")
