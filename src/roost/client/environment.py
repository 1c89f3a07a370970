"""Where callers find the server: `ROOST_URL` and `ROOST_API_KEY`."""

from __future__ import annotations

import os
from typing import Final

DEFAULT_URL: Final = "http://127.0.0.1:7463"


def server_url() -> str:
    """`ROOST_URL`, else the default of `roost up` (`ROOST_PORT` is honoured)."""
    default = DEFAULT_URL
    port = os.environ.get("ROOST_PORT", "").strip()
    if port.isdigit():
        default = f"http://127.0.0.1:{port}"
    return os.environ.get("ROOST_URL", "").strip() or default


def api_key() -> str | None:
    """`ROOST_API_KEY`, when it is set and not blank."""
    return os.environ.get("ROOST_API_KEY", "").strip() or None
