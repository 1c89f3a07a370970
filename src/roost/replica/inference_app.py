"""The ASGI app of an inference model. No framework: this is the hot path."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from roost.asgi.body import read_body
from roost.asgi.method import require_method
from roost.asgi.request_id import current_request_id
from roost.asgi.responses import send_json
from roost.asgi.types import Receive, Scope, Send, find_header
from roost.capabilities.table import CAPABILITIES
from roost.contracts.envelope import InferenceRequest
from roost.contracts.replica import ReplicaLimits
from roost.errors import NotFound, Timeout, WrongCapability
from roost.replica.inference_request import read_binary, read_json
from roost.replica.served_model import ServedModel

_Handler = Callable[[Scope, Receive, Send], Awaitable[None]]
_INFERENCE = "/v1/inference/"


class InferenceApp:
    """Answers `POST /v1/inference/{capability}[/binary]`, `GET /v1/interface` and `GET /v1/health`
    below its mount path (`root_path`).

    A request that takes longer than the limit raises `Timeout` and gives up its place in the
    model's queue; so does one whose caller leaves. Errors are raised: the error boundary in front
    answers them.
    """

    def __init__(self, model: ServedModel, limits: ReplicaLimits) -> None:
        self._model = model
        self._capability = model.capability
        self._max_body_bytes = limits.max_body_bytes
        self._timeout_s = limits.timeout_s or model.capability.default_timeout_s
        route = _INFERENCE + self._capability.name
        self._routes: dict[str, _Route] = {
            route: _Route("POST", self._infer_json),
            "/v1/interface": _Route("GET", self._interface),
            "/v1/health": _Route("GET", self._health),
        }
        if self._capability.upload_field is not None:
            self._routes[route + "/binary"] = _Route("POST", self._infer_binary)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        path: str = scope["path"]
        path = path.removeprefix(scope.get("root_path", ""))
        route = self._routes.get(path)
        if route is None:
            raise self._no_route(path)
        require_method(scope, path, route.method)
        await route.handler(scope, receive, send)

    async def _infer_json(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._infer(scope, receive, send, is_binary=False)

    async def _infer_binary(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._infer(scope, receive, send, is_binary=True)

    async def _infer(self, scope: Scope, receive: Receive, send: Send, *, is_binary: bool) -> None:
        started = time.perf_counter()
        uploads: list[bytes] | None = None
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:
                body = await read_body(scope, receive, self._max_body_bytes)
                content_type = find_header(scope, b"content-type")
                if is_binary:
                    request, uploads = read_binary(self._capability, content_type, body)
                else:
                    request = read_json(self._capability, content_type, body)
                output = await self._model.predict(request, uploads, size_bytes=len(body))
        except TimeoutError:
            if not deadline.expired():
                raise
            raise self._timed_out() from None
        await send_json(send, 200, self._envelope(request, output, time.perf_counter() - started))

    def _envelope(self, request: InferenceRequest, output: Any, seconds: float) -> bytes:
        # The parts are valid already; building the envelope without validation saves the hot path.
        response = self._capability.response_type.model_construct(
            id=current_request_id(),
            timestamp=datetime.now(UTC),
            processing_time=seconds,
            metadata={"model": request.model, **self._model.metadata},
            data=output,
        )
        return response.to_json()

    async def _interface(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send_json(send, 200, self._model.interface_json)

    async def _health(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await self._model.check_health()
        await send_json(send, 200, b'{"status":"ok"}')

    def _timed_out(self) -> Timeout:
        return Timeout(
            f"The model did not answer within {self._timeout_s:g} s.",
            hint="Send a smaller request.",
        )

    def _no_route(self, path: str) -> NotFound | WrongCapability:
        asked = path.removeprefix(_INFERENCE).removesuffix("/binary")
        own = self._capability.name
        if path.startswith(_INFERENCE) and asked in CAPABILITIES and asked != own:
            return WrongCapability(
                f"This model serves {own!r}, not {asked!r}.", hint=f"POST to {_INFERENCE}{own}."
            )
        return NotFound(
            f"There is no route {path[:200]!r}.", hint=f"The routes are {', '.join(sorted(self._routes))}."
        )


@dataclass(frozen=True, slots=True)
class _Route:
    method: str
    handler: _Handler
