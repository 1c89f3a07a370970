"""Ray as the control plane reaches it: closed while the embedded cluster is not up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from roost.contracts.info import NodeInfo
from roost.engine.logs import replica_log
from roost.engine.nodes import list_nodes
from roost.engine.pending import unplaced_replicas
from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable


class GatedEngine:
    """Passes calls on to Ray, unless `trouble` says why it cannot be asked.

    A cluster that is just starting answers before it may be used: what would be PUT then, the
    start itself would take away again.
    """

    def __init__(self, api: ServeApi, trouble: Callable[[], str]) -> None:
        self._api = api
        self._trouble = trouble

    @property
    def dashboard_url(self) -> str:
        """Where Ray's dashboard is."""
        return self._api.dashboard.url

    def get(self) -> dict[str, Any]:
        """The details of all applications."""
        self._check()
        return self._api.get()

    def put(self, body: dict[str, Any]) -> None:
        """Replace the whole set of applications."""
        self._check()
        self._api.put(body)

    def list_nodes(self) -> Sequence[NodeInfo]:
        """The cluster's nodes."""
        self._check()
        return list_nodes(self._api.dashboard)

    def unplaced_replicas(self) -> set[str]:
        """Ids of replicas for which Ray has not found a node."""
        self._check()
        return unplaced_replicas(self._api.dashboard)

    def replica_log(self, app_name: str, tail: int) -> str:
        """The last lines of an application's replicas."""
        self._check()
        return replica_log(self._api, app_name, tail)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def _check(self) -> None:
        trouble = self._trouble()
        if trouble:
            raise EngineUnavailable(
                f"Ray cannot be asked: {trouble.rstrip('.')}.", hint="`roost status` shows when it is ready."
            )
