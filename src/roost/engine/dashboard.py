"""One connection to Ray's dashboard: every HTTP call to Ray goes through here."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from roost.engine.ansi import strip_ansi
from roost.errors import EngineUnavailable, InternalError
from roost.hosts import is_loopback

_TRIES: Final = 3
_SHOWN: Final = 600


class Dashboard:
    """Calls one dashboard, with its token. Thread-safe.

    Args:
        url: For example `http://127.0.0.1:8265`.
        token: Sent as `Authorization: Bearer`; None for a cluster without authentication.
        timeout_s: Of connecting, and of each wait for bytes.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 10.0) -> None:
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._client = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=timeout_s,
            # A proxy of the environment is for other machines; on loopback it would only be in the way.
            trust_env=not is_loopback(urlsplit(self.url).hostname),
        )

    def get(self, path: str, params: dict[str, str] | None = None) -> httpx2.Response:
        """GET `path`; tried again at once when no connection could be made or an idle one was closed.

        Raises:
            EngineUnavailable: unreachable, 401 or 403, not a Ray dashboard, 5xx, too slow.
            InternalError: another refusal; the message has Ray's own answer.
        """
        for left in reversed(range(_TRIES)):
            try:
                return self._answer("GET", path, self._client.get(path, params=params))
            except (httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
                if left == 0:
                    raise self._unreachable(error) from error
            except httpx2.HTTPError as error:
                raise self._unreachable(error) from error
        raise AssertionError("unreachable")

    def get_json(
        self,
        path: str,
        params: dict[str, str] | None = None,
        decode: Callable[[bytes], Any] = json.loads,
    ) -> dict[str, Any]:
        """GET a JSON object; the errors of `get`, and EngineUnavailable when it is something else.

        Args:
            decode: Reads the body; raises ValueError for what is not JSON.
        """
        response = self.get(path, params)
        try:
            answer = decode(response.content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._not_a_dashboard(f"GET {path} answers {_shown(response)!r}, not a JSON object")
        return answer

    def put(self, path: str, body: dict[str, Any], *, timeout_s: float) -> None:
        """PUT a JSON body, once; the errors of `get`."""
        try:
            timeout = httpx2.Timeout(timeout_s, connect=self._timeout_s)
            response = self._client.put(path, json=body, timeout=timeout)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        self._answer("PUT", path, response)

    def close(self) -> None:
        """Close the connections; no call may follow."""
        self._client.close()

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, method: str, path: str, response: httpx2.Response) -> httpx2.Response:
        status = response.status_code
        if status < 300:
            return response
        if status in (401, 403):
            raise EngineUnavailable(
                f"Ray at {self.url!r} refuses our token ({status}).",
                hint="Set ROOST_RAY_TOKEN or RAY_AUTH_TOKEN to the token of that cluster.",
            )
        if status in (404, 405) or status < 400:
            raise self._not_a_dashboard(f"{method} {path} answers {status}")
        if status >= 500 or status == 429:
            raise EngineUnavailable(
                f"Ray at {self.url!r} answers {status} to {method} {path}: {_last_line(response)!r}.",
                hint="It may be starting or overloaded; its logs say more.",
                context={"answer": _shown(response)},
            )
        raise InternalError(f"Ray refuses {method} {path} ({status}): {_shown(response)}")

    def _unreachable(self, error: Exception) -> EngineUnavailable:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return EngineUnavailable(
            f"Ray's dashboard at {self.url!r} does not answer ({why}).",
            hint="Check that the cluster runs and that this is its dashboard (port 8265 by default).",
        )

    def _not_a_dashboard(self, what: str) -> EngineUnavailable:
        return EngineUnavailable(
            f"What answers at {self.url!r} is not a Ray dashboard with Serve: {what}.",
            hint="Check the address, and that the cluster has ray[serve] installed.",
        )


def _shown(response: httpx2.Response) -> str:
    text = strip_ansi(response.text).strip()
    return text if len(text) <= _SHOWN else f"{text[:200]} ... {text[-(_SHOWN - 205) :]}"


def _last_line(response: httpx2.Response) -> str:
    lines = strip_ansi(response.text).strip().splitlines()
    return lines[-1][:_SHOWN] if lines else ""
