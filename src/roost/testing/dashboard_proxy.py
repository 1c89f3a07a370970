"""Stands between one server and Ray's dashboard, and keeps what that server asked of Ray."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from roost.engine.serve_api import APPLICATIONS
from roost.testing.fake_serve_http import FakeAnswer, FakeHttp


@dataclass(frozen=True, slots=True)
class Put:
    """One PUT that reached Ray.

    Attributes:
        at_s: When it came, of `time.monotonic()`.
        names: The applications in it.
    """

    at_s: float
    names: tuple[str, ...]


class DashboardProxy:
    """Passes everything on, and answers as Ray does.

    Attributes:
        puts: All PUTs of applications, in order.
        looks: How often the applications were read.
    """

    def __init__(self, dashboard_url: str) -> None:
        self.puts: list[Put] = []
        self.looks = 0
        self._client = httpx2.Client(base_url=dashboard_url, timeout=120, trust_env=False)
        self._http = FakeHttp(self._pass_on)

    @property
    def url(self) -> str:
        """The dashboard's address for that server."""
        return self._http.url

    def __enter__(self) -> DashboardProxy:
        self._http.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.stop()
        self._client.close()

    def _pass_on(
        self, method: str, path: str, query: Mapping[str, str], token: str | None, body: Any
    ) -> FakeAnswer:
        if path == APPLICATIONS and method == "PUT":
            names = tuple(str(app["name"]) for app in body["applications"])
            self.puts.append(Put(time.monotonic(), names))
        elif path == APPLICATIONS:
            self.looks += 1
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = self._client.request(method, path, params=dict(query), json=body, headers=headers)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return FakeAnswer(answer.status_code, answer.json() if is_json else answer.text)
