"""`roost node`: joins a cluster, joins again when the cluster was away, and leaves when told to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from roost.engine.node.address import ClusterAddress
from roost.errors import RoostError

WATCH_S: Final = 0.5
GONE_AFTER_S: Final = 5.0
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 5.0


class Joinable(Protocol):
    """A `WorkerNode`, as far as it is needed here."""

    def join(self, cluster: ClusterAddress, should_abort: Callable[[], bool]) -> None: ...
    def alive(self) -> bool: ...
    def leave(self, *, drain_s: float, hurry: Callable[[], bool], on_left: Callable[[int], None]) -> int: ...
    def end_remains(self) -> bool: ...


class NodeService:
    """Keeps a node in its cluster until `leave` is set.

    Args:
        find_cluster: The cluster as it is now; None while it is on its way up.
        say: Told what happens, one sentence at a time.
        answers: Whether the cluster's control store takes connections.

    Attributes:
        leave: Set it to drain and leave.
        hurry: Set it to leave without draining on.
    """

    def __init__(
        self,
        node: Joinable,
        find_cluster: Callable[[], ClusterAddress | None],
        say: Callable[[str], None],
        *,
        drain_s: float,
        answers: Callable[[ClusterAddress], bool] | None = None,
    ) -> None:
        self.leave = threading.Event()
        self.hurry = threading.Event()
        self._node = node
        self._find_cluster = find_cluster
        self._say = say
        self._drain_s = drain_s
        self._answers = answers or takes_connections
        self._draining = False

    def run(self, on_joined: Callable[[ClusterAddress], None]) -> None:
        """Return when the node has left; `on_joined` is called when it has joined for the first time.

        Raises:
            RoostError: it could not join at first. Later it tries again until it is to leave.
        """
        if self._node.end_remains():
            self._say("What an earlier run of this node left is ended.")
        try:
            cluster = self._join_first()
            if cluster is not None:
                on_joined(cluster)
            while cluster is not None:
                self._watch(cluster)
                cluster = None if self.leave.is_set() else self._join_again()
        finally:
            self._depart()

    def _join_first(self) -> ClusterAddress | None:
        told = False
        while not self.leave.is_set():
            cluster = self._find_cluster()
            if cluster is not None:
                return self._join(cluster)
            if not told:
                self._say("The cluster is still starting; this node joins it as soon as it is up.")
                told = True
            self.leave.wait(WATCH_S)
        return None

    def _join_again(self) -> ClusterAddress | None:
        self._say("The node or its cluster died; it joins again as soon as the cluster answers.")
        self._node.end_remains()
        pause_s = FIRST_PAUSE_S
        said = ""
        while not self.leave.wait(pause_s):
            pause_s = min(LONGEST_PAUSE_S, pause_s * 2)
            try:
                cluster = self._find_cluster()
                if cluster is not None and (joined := self._join(cluster)):
                    self._say("Joined again.")
                    return joined
            except RoostError as error:
                if str(error) != said:
                    said = str(error)
                    self._say(f"Not yet: {said}")
        return None

    def _join(self, cluster: ClusterAddress) -> ClusterAddress | None:
        try:
            self._node.join(cluster, self.leave.is_set)
        except RoostError:
            if self.leave.is_set():
                return None
            raise
        return cluster

    def _watch(self, cluster: ClusterAddress) -> None:
        """Return when the node is to leave, its raylet died, or the cluster does not answer for a while."""
        seen = time.monotonic()
        while not self.leave.wait(WATCH_S) and self._node.alive():
            if self._answers(cluster):
                seen = time.monotonic()
            elif time.monotonic() - seen > GONE_AFTER_S:
                return

    def _depart(self) -> None:
        joined = self._node.alive()
        left = self._node.leave(drain_s=self._drain_s, hurry=self.hurry.is_set, on_left=self._say_left)
        if left:
            self._say(f"{_replicas(left)} did not find another place in time.")
        if joined:
            self._say("This node has left the cluster.")

    def _say_left(self, left: int) -> None:
        """Told how many replicas are still here, at first and at each change."""
        if left == 0:
            self._say("No replica is here any more." if self._draining else "Leaving; no replica is here.")
            return
        if not self._draining:
            patience = f"for up to {self._drain_s:g} s; once more to leave at once"
            self._say(f"Leaving. Moves what is here elsewhere first, {patience}.")
        self._say(f"Still here: {_replicas(left)}.")
        self._draining = True


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def takes_connections(cluster: ClusterAddress) -> bool:
    """Whether something listens at the cluster's address."""
    try:
        socket.create_connection((cluster.host, cluster.port), 2.0).close()
    except OSError:
        return False
    return True
