"""`POST /v1/inference/{capability}[/binary]`: reads `model`, forwards the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from roost.asgi.body import limited
from roost.asgi.responses import send_error
from roost.asgi.types import Receive, Scope, Send, find_header
from roost.errors import MethodNotAllowed, NotFound, UnsupportedMediaType
from roost.gateway.forward import Body, Forwarder
from roost.gateway.model_field import read_json_model
from roost.gateway.multipart_field import read_multipart_model
from roost.gateway.pieces import Pieces
from roost.gateway.table import CapabilityView, Routes

PREFIX: Final = "/v1/inference/"

# Up to here a body is read whole before it is forwarded: one write, and no task to send the rest.
_WHOLE_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Target:
    capability: str
    path: str
    media_type: bytes
    media_name: str


class InferenceGateway:
    """The ASGI app of the inference routes. Stands inside an `ErrorBoundary`.

    Args:
        capabilities: The capability table; those with an upload field have a binary route.
        max_body_bytes: Counted on bytes received; 0 = no limit.
    """

    def __init__(
        self,
        routes: Routes,
        forwarder: Forwarder,
        capabilities: Mapping[str, CapabilityView],
        *,
        max_body_bytes: int = 100 * 1024 * 1024,
    ) -> None:
        self._routes = routes
        self._forwarder = forwarder
        self._names = sorted(capabilities)
        self._targets = {target.path: target for row in capabilities.values() for target in _targets(row)}
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = self._targets.get(scope["path"])
        if target is None:
            raise NotFound(
                f"there is no route {scope['path'][:200]!r}.",
                hint=f"The inference routes are {PREFIX}<capability>[/binary] with {', '.join(self._names)}.",
            )
        if scope["method"] != "POST":
            error = MethodNotAllowed(f"{target.path} takes POST, not {scope['method']}.")
            await send_error(send, error, scope["state"]["request_id"], [(b"allow", b"POST")])
            return
        content_type = _checked_type(scope, target)
        receive = limited(receive, scope, self._max_body_bytes)
        pieces = Pieces()
        await pieces.read(receive)
        if pieces.more and _declared(scope) <= _WHOLE_BYTES:
            while pieces.more:
                await pieces.read(receive)
        if target.media_type == b"application/json":
            model = await read_json_model(pieces, receive)
        else:
            model = await read_multipart_model(pieces, receive, content_type)
        route = self._routes.resolve(model, target.capability)
        body = Body(pieces.chunks, pieces.more)
        await self._forwarder.forward(scope, receive, send, route=route, path=target.path, body=body)


def _targets(row: CapabilityView) -> list[_Target]:
    path = PREFIX + row.name
    targets = [_Target(row.name, path, b"application/json", "JSON (application/json)")]
    if row.upload_field is not None:
        targets.append(_Target(row.name, f"{path}/binary", b"multipart/form-data", "multipart/form-data"))
    return targets


def _checked_type(scope: Scope, target: _Target) -> bytes:
    content_type = encoding = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type = value
        elif name == b"content-encoding":
            encoding = value
    if content_type.partition(b";")[0].strip().lower() != target.media_type:
        raise UnsupportedMediaType(
            f"{target.path} reads {target.media_name}, not {content_type[:100].decode('latin-1')!r}.",
            hint=f"Send it with Content-Type: {target.media_type.decode()}.",
        )
    if encoding and encoding.lower() != b"identity":
        raise UnsupportedMediaType(
            f"A body with Content-Encoding {encoding[:40].decode('latin-1')!r} is not read.",
            hint="Send it plain.",
        )
    return content_type


def _declared(scope: Scope) -> int:
    length = find_header(scope, b"content-length")
    return int(length) if length is not None and length.isdigit() and len(length) < 20 else _WHOLE_BYTES + 1
