"""Ray Serve's declarative REST API: the whole set of applications, read and replaced."""

from __future__ import annotations

from typing import Any, Final

from roost.engine.dashboard import Dashboard
from roost.engine.details import DetailsReader

APPLICATIONS: Final = "/api/serve/applications/"


class ServeApi:
    """Reads and replaces the applications of one cluster. Thread-safe.

    Args:
        dashboard_url: For example `http://127.0.0.1:8265`.
        token: The cluster's token, if it has one.
        timeout_s: Of a read.
        put_timeout_s: Of a PUT; the first one starts Serve itself, which takes Ray half a minute.
    """

    def __init__(
        self, dashboard_url: str, token: str | None, timeout_s: float = 10.0, *, put_timeout_s: float = 90.0
    ) -> None:
        self.dashboard = Dashboard(dashboard_url, token, timeout_s=timeout_s)
        self._put_timeout_s = put_timeout_s
        self._details = DetailsReader()

    def get(self) -> dict[str, Any]:
        """Ray's details of Serve: `applications`, `proxies`, `http_options` and more, as Ray gives them.

        While Serve does not run, `applications` and `proxies` are empty. An application that did not change
        since the last call is the same object again: change nothing in it.

        Raises:
            EngineUnavailable: Ray does not answer, or refuses the token.
            InternalError: Ray refuses the call.
        """
        return self.dashboard.get_json(APPLICATIONS, decode=self._details.read)

    def put(self, body: dict[str, Any]) -> None:
        """Replace the whole set: what `body` leaves out is deleted. Never tried twice.

        Raises:
            EngineUnavailable: Ray does not answer, or refuses the token.
            InternalError: Ray refuses the body; the message has Ray's own answer.
        """
        self.dashboard.put(APPLICATIONS, body, timeout_s=self._put_timeout_s)

    def close(self) -> None:
        """Close the connections."""
        self.dashboard.close()
