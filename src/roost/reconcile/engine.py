"""Keeps the embedded Ray running: adopts or starts it, and starts it again when it dies."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, Protocol

from roost.errors import RoostError

_log = logging.getLogger("roost.engine")

WATCH_S: Final = 0.5
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0

KeeperState = Literal["starting", "ready", "stopped"]


class ManagedCluster(Protocol):
    """An embedded cluster, as far as its keeper needs it."""

    @property
    def log_dir(self) -> Path: ...
    def adopt(self) -> bool: ...
    def start(self, should_abort: Callable[[], bool], on_progress: Callable[[str], None]) -> None: ...
    def alive(self) -> bool: ...
    def stop(self, *, fast: bool = False) -> None: ...


class EngineKeeper:
    """Runs in a thread of its own, which is the only one to touch the cluster until `stop` has joined it.

    Args:
        on_ready: Called from that thread each time Ray is up.
    """

    def __init__(self, cluster: ManagedCluster, on_ready: Callable[[], None]) -> None:
        self._cluster = cluster
        self._on_ready = on_ready
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="roost-engine", daemon=True)
        self.state: KeeperState = "starting"
        self.message = ""

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End the cluster; a start that is under way is interrupted. Takes at most about 2 s."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._cluster.stop(fast=True)
        self.state = "stopped"

    def find_log_dir(self) -> Path | None:
        """Folder of Ray's logs while it runs."""
        return self._cluster.log_dir if self.state == "ready" else None

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            if self._bring_up():
                pause_s = FIRST_PAUSE_S
                self._watch()
            else:
                self._stopping.wait(pause_s)
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2)

    def _bring_up(self) -> bool:
        try:
            if self._cluster.adopt():
                _log.info("The Ray that an earlier server of this home left is taken over")
            else:
                self._cluster.start(self._stopping.is_set, self._progress)
        except RoostError as error:
            if not self._stopping.is_set():
                self.message = str(error)
                _log.error("%s", error)
            return False
        self.state, self.message = "ready", ""
        self._on_ready()
        return True

    def _watch(self) -> None:
        """Return when the cluster has died or is to be stopped."""
        while not self._stopping.wait(WATCH_S):
            if not self._cluster.alive():
                self.state = "starting"
                self.message = "Ray died and is started again."
                _log.error("Ray died; it is started again. Logs: %s", self._cluster.log_dir)
                return

    def _progress(self, what: str) -> None:
        _log.info("%s", what)
        self.message = what
