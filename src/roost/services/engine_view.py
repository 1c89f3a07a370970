"""What this server knows of Ray: when it last answered, and its nodes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from roost.contracts.info import NodeInfo
from roost.errors import EngineUnavailable

NODES_FRESH_S: Final = 2.0

_log = logging.getLogger("roost.engine")


class EngineView:
    """Told by the reconciler whether Ray answers; asks it for nodes and logs when they are wanted.

    Args:
        list_nodes: Asks Ray for its nodes; raises EngineUnavailable.
        replica_log: Asks Ray for the last lines of an application's replicas, by name and number of lines.
    """

    def __init__(
        self,
        list_nodes: Callable[[], Sequence[NodeInfo]],
        replica_log: Callable[[str, int], str],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._list_nodes = list_nodes
        self.replica_log = replica_log
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last_seen: datetime | None = None
        self._trouble = ""
        self._node_trouble = ""
        self._nodes: Sequence[NodeInfo] | None = None
        self._nodes_at = 0.0
        self._work: Callable[[], bool] | None = None

    def when_seen(self, work: Callable[[], bool]) -> None:
        """Do `work` when Ray is next seen, and again until it returns True. Other work is forgotten."""
        with self._lock:
            self._work = work

    def saw(self, at: datetime) -> None:
        """Ray answered at `at`."""
        with self._lock:
            self._last_seen, self._trouble = at, ""
            work = self._work
        if work is not None and _is_done(work):
            with self._lock:
                self._work = None if self._work is work else self._work

    def lost(self, reason: str) -> datetime | None:
        """Ray does not answer; returns when it last did."""
        with self._lock:
            self._trouble = reason
            return self._last_seen

    @property
    def last_seen(self) -> datetime | None:
        """When Ray last answered this server; None when it never did."""
        with self._lock:
            return self._last_seen

    @property
    def trouble(self) -> str:
        """Why Ray is out of reach; empty when it answered the last time."""
        with self._lock:
            return self._trouble or self._node_trouble

    def find_nodes(self) -> Sequence[NodeInfo] | None:
        """The nodes, at most `NODES_FRESH_S` old; None while Ray does not answer.

        While the reconciler finds it out of reach, nobody waits here for another time-out.
        """
        now = self._monotonic()
        with self._lock:
            if self._trouble:
                return None
            if self._nodes is not None and now - self._nodes_at < NODES_FRESH_S:
                return self._nodes
        try:
            nodes = self._list_nodes()
        except EngineUnavailable as error:
            with self._lock:
                self._node_trouble = str(error)
            return None
        with self._lock:
            self._nodes, self._nodes_at, self._node_trouble = nodes, now, ""
        return nodes

    def last_nodes(self) -> Sequence[NodeInfo]:
        """The nodes as last seen; asks nobody."""
        with self._lock:
            return self._nodes or ()

    def node_names(self) -> Mapping[str, str]:
        """Names of the nodes that were seen, by id; asks nobody."""
        with self._lock:
            return {node.node_id: node.name for node in self._nodes or ()}


def _is_done(work: Callable[[], bool]) -> bool:
    try:
        return work()
    except Exception:  # noqa: BLE001  # whoever saw Ray goes on; the work is tried again
        _log.exception("What was to be done once Ray is seen failed; it is tried again")
        return False
