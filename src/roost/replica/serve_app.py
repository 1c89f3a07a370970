"""Serves a serve-app: a class in front of which stands an ASGI app of its author's."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from roost.asgi.request_id import current_request_id
from roost.asgi.responses import error_headers
from roost.asgi.types import ASGIApp
from roost.contracts.error import ErrorBody
from roost.errors import RoostError
from roost.replica.class_routes import bind_routes
from roost.replica.failures import raised_by_model
from roost.serve import INGRESS_ATTRIBUTE


def build_serve_app(instance: object) -> ASGIApp:
    """The ASGI app of `instance`'s class, with the routes that are its methods bound to `instance`.

    The app is its author's: what it answers goes out as it is. Only what its code lets escape is
    answered for it, in the error envelope, unless it handles `Exception` itself.
    """
    app: Any = getattr(type(instance), INGRESS_ATTRIBUTE)
    bind_routes(app, instance)
    if isinstance(app, Starlette):
        handlers = app.exception_handlers
        if not any(known in handlers for known in (Exception, 500)):
            app.add_exception_handler(Exception, _answer_unhandled)
        if RoostError not in handlers:
            app.add_exception_handler(RoostError, _answer_roost_error)
    served: ASGIApp = app
    return served


async def _answer_unhandled(_request: Request, error: Exception) -> Response:
    # Starlette raises it again after this, so that it reaches the log with its traceback.
    return _response(raised_by_model(error))


async def _answer_roost_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RoostError)
    return _response(error)


def _response(error: RoostError) -> Response:
    request_id = current_request_id()
    headers = {name.decode(): value.decode() for name, value in error_headers(error, request_id)}
    content = ErrorBody.of(error, request_id).to_json()
    return Response(content, error.status, headers, media_type="application/json")
