"""Every error of a FastAPI app in the one envelope."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from roost.asgi.request_id import REQUEST_ID_HEADER, clean_request_id, current_request_id
from roost.asgi.responses import error_headers
from roost.contracts.error import ErrorBody
from roost.errors import (
    STATUS,
    BadRequest,
    InternalError,
    MethodNotAllowed,
    NotFound,
    RoostError,
    ValidationFailed,
    error_class,
)

_log = logging.getLogger(__name__)

_MAX_ISSUES: Final = 50
_MAX_STEP_LENGTH: Final = 80


def install_error_handlers(app: FastAPI) -> None:
    """Make `app` answer every error in the envelope, under the request id of `ErrorBoundary`.

    `RoostError` is sent as it is. Framework errors (no such route, wrong method, a body that breaks
    the contract) become ours. Anything else is told as an `internal_error`, without its text, and
    raised again, so that `ErrorBoundary` logs it.
    """
    app.add_exception_handler(RoostError, _answer)
    app.add_exception_handler(RequestValidationError, _answer)
    app.add_exception_handler(HTTPException, _answer)
    app.add_exception_handler(UnicodeEncodeError, _answer)
    app.add_exception_handler(Exception, _answer)


async def _answer(request: Request, raised: Exception) -> Response:
    request_id = current_request_id() or clean_request_id(_header(request, REQUEST_ID_HEADER))
    error = as_roost_error(raised, method=request.method, path=request.url.path)
    if isinstance(raised, RoostError) and error.status >= 500:
        _log.error("request %s: %s", request_id, error, exc_info=raised, extra={"context": error.context})
    response = Response(
        ErrorBody.of(error, request_id).to_json(), status_code=error.status, media_type="application/json"
    )
    response.raw_headers.extend(error_headers(error, request_id))
    if isinstance(raised, HTTPException):
        _keep_headers(response, raised.headers or {})
    return response


def as_roost_error(raised: Exception, *, method: str, path: str) -> RoostError:
    """The error that tells a caller of `raised`; its text is kept only where it is meant for callers."""
    if isinstance(raised, RoostError):
        return raised
    if isinstance(raised, RequestValidationError):
        return _of_validation(raised)
    if isinstance(raised, HTTPException):
        return _of_http(raised, method, path)
    if isinstance(raised, UnicodeEncodeError):  # JSON's escapes can spell what UTF-8 cannot hold
        return BadRequest(
            "A text of the request holds half of a surrogate pair.", hint="Send valid Unicode text."
        )
    return InternalError(
        "The server failed while it handled this request.", hint="Its log has the cause under the request id."
    )


def _of_http(raised: HTTPException, method: str, path: str) -> RoostError:
    shown = path if len(path) <= 200 else f"{path[:197]}..."
    if raised.status_code == 404:
        return NotFound(f"There is no route {shown!r}.", hint="`/docs` lists the routes.")
    if raised.status_code == 405:
        allowed = (raised.headers or {}).get("Allow", "")
        hint = f"It takes {allowed}." if allowed else None
        return MethodNotAllowed(f"The route {shown!r} does not take {method}.", hint=hint)
    for code, status in STATUS.items():
        if status == raised.status_code:
            return error_class(code)(str(raised.detail))
    return BadRequest(str(raised.detail)) if raised.status_code < 500 else InternalError(str(raised.detail))


def _of_validation(raised: RequestValidationError) -> RoostError:
    found: list[Mapping[str, Any]] = list(raised.errors())
    for each in found:
        cause = each.get("ctx", {}).get("error")
        if isinstance(cause, RoostError):
            return cause  # a rule of ours was broken while the body was read
        if each["type"] == "json_invalid":
            return BadRequest(f"The body is not valid JSON: {cause or each['msg']}.")
    issues = [{"loc": _shown(each["loc"]), "message": each["msg"]} for each in found[:_MAX_ISSUES]]
    first = issues[0]
    where = ".".join(str(step) for step in first["loc"])
    return ValidationFailed(f"{where!r} is not valid: {first['message']}.", issues=issues)


def _shown(loc: tuple[int | str, ...]) -> list[int | str]:
    return [step[:_MAX_STEP_LENGTH] if isinstance(step, str) else step for step in loc]


def _header(request: Request, name: bytes) -> bytes | None:
    return next((value for key, value in request.scope["headers"] if key == name), None)


def _keep_headers(response: Response, headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        response.headers[name] = value
