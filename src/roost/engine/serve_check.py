"""Whether Serve of an existing cluster answers where the settings say it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from roost.hosts import is_loopback

_TIMEOUT_S: Final = 2.0
_HINT: Final = "Set ROOST_SERVE_URL (--serve-url) to where callers reach it."


def find_serve_trouble(details: Mapping[str, Any], serve_url: str) -> str:
    """What is wrong with `serve_url`, asked now; empty when Serve answers there, or does not run yet.

    Args:
        details: Ray's details of Serve (`ServeApi.get`).
        serve_url: Without a trailing slash.
    """
    if not details.get("proxies"):
        return ""
    fault = _fault(serve_url)
    if not fault:
        return ""
    port = (details.get("http_options") or {}).get("port")
    where = f" Ray says that Serve listens on port {port}." if port else ""
    return f"{fault}{where} {_HINT}"


def _fault(serve_url: str) -> str:
    trust_env = not is_loopback(urlsplit(serve_url).hostname)
    try:
        answer = httpx2.get(f"{serve_url}/-/routes", timeout=_TIMEOUT_S, trust_env=trust_env)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return f"Nothing answers at {serve_url!r} ({type(error).__name__})."
    if answer.status_code >= 500 or _is_routes(answer):  # 5xx: it has no healthy replica yet
        return ""
    return f"What answers at {serve_url!r} is not Ray Serve ({answer.status_code} to GET /-/routes)."


def _is_routes(answer: httpx2.Response) -> bool:
    try:
        return answer.status_code == 200 and isinstance(answer.json(), dict)
    except ValueError:
        return False
