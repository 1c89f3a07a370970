"""Request ids: taken from the caller when they are clean, made here when they are not."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from typing import Final

REQUEST_ID_HEADER: Final = b"x-request-id"

_CLEAN: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}")

# Set by ErrorBoundary alone; everybody else reads it through current_request_id().
current: Final[ContextVar[str]] = ContextVar("roost_request_id", default="")


def clean_request_id(raw: bytes | None) -> str:
    """The caller's id when it is 1 to 128 of `[A-Za-z0-9._-]`, else a fresh one of 32 hex digits."""
    if raw is not None and _CLEAN.fullmatch(raw):
        return raw.decode("ascii")
    return secrets.token_hex(16)


def current_request_id() -> str:
    """The id of the request this code runs for; empty outside of a request."""
    return current.get()
