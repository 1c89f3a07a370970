"""A `roost up` of one's own: started, interrupted, killed, and looked for when it should be gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil

from roost.client import Client, control_calls
from roost.contracts.info import ServerInfo
from roost.daemon import HomeLock
from roost.engine.embedded.processes import find_processes
from roost.engine.embedded.state import ClusterState, find_state
from roost.engine.serve_api import ServeApi
from roost.errors import RoostError

START_TIMEOUT_S: Final = 240.0
STOP_TIMEOUT_S: Final = 60.0
_MARK: Final = "TESTED_SERVER"
_POLL_S: Final = 0.1


class ServerProcess:
    """`roost up` in a home; may be ended and started again there."""

    def __init__(self, home: Path, cache: Path, **environment: str) -> None:
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = home.with_suffix(".log")
        self.clusters: list[ClusterState] = []
        self._mark = uuid.uuid4().hex
        self._environment = plain_environment(
            ROOST_HOME=str(home),
            ROOST_CACHE_DIR=str(cache),
            ROOST_PORT=str(self.port),
            ROOST_START_TIMEOUT_S=str(START_TIMEOUT_S),
            **{_MARK: self._mark},
            **environment,
        )
        self._client = Client(self.url, max_retries=0)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def start(self) -> ServerProcess:
        """Start it; returns at once."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "roost.cli", "up"],
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def start_ready(self) -> ServerProcess:
        """Start it; returns when Ray is up."""
        self.start()
        self.wait_ready()
        return self

    def wait_ready(self) -> None:
        wait_until(self._is_ready, START_TIMEOUT_S, f"ready\n{self.log.read_text()}")
        self.note_cluster()

    def info(self) -> ServerInfo:
        return self._client.run(control_calls.info())

    def cluster(self) -> ClusterState:
        """The cluster that its home knows now."""
        state = find_state(self.home / "ray" / "cluster.json")
        assert state is not None
        return state

    def note_cluster(self) -> None:
        """Remember its present cluster, so that `leftovers` looks for that, too."""
        state = find_state(self.home / "ray" / "cluster.json")
        if state is not None and state.cluster_id not in {known.cluster_id for known in self.clusters}:
            self.clusters.append(state)

    def ray_details(self) -> dict[str, Any]:
        """What Ray says of Serve."""
        state = self.cluster()
        api = ServeApi(f"http://127.0.0.1:{state.ports.dashboard}", state.token)
        try:
            return api.get()
        finally:
            api.close()

    def ray_application(self, name: str) -> dict[str, Any]:
        """What Ray says of one application."""
        found: dict[str, Any] = self.ray_details()["applications"][name]
        return found

    def interrupt(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Ctrl-C; the exit code."""
        self.note_cluster()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout_s)
        self.note_cluster()
        return code

    def end(self) -> None:
        """End it as a user does, when it still runs; nothing of it may be left."""
        if self.process.poll() is None:
            assert self.interrupt() == 0
            assert self.leftovers() == []

    def kill(self) -> None:
        """End it without a chance to do anything; its Ray goes on."""
        self.note_cluster()
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)

    def stop(self) -> None:
        """End it in whatever state it is, with its Ray."""
        if self._process is not None and self._process.poll() is None:
            try:
                self.interrupt()
            except subprocess.TimeoutExpired:
                self.kill()
        self._client.close()
        subprocess.run([sys.executable, "-m", "roost.cli", "down"], env=self._environment, check=False)

    def leftovers(self) -> list[str]:
        """Every trace it left outside its home: processes, run folders, its lock."""
        processes = {process.pid: process for process in psutil.process_iter() if self._is_marked(process)}
        for cluster in self.clusters:
            processes |= {process.pid: process for process in find_processes(cluster.cluster_id)}
        found = [f"process {pid}: {_command(process)}" for pid, process in processes.items()]
        found += [cluster.run_dir for cluster in self.clusters if Path(cluster.run_dir).exists()]
        if not HomeLock(self.home).is_free():
            found.append("the lock of the home")
        return found

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            is_alive = process.status() != psutil.STATUS_ZOMBIE
            return is_alive and process.environ().get(_MARK) == self._mark
        except (psutil.Error, OSError):
            return False

    def _is_ready(self) -> bool:
        code = self.process.poll()
        assert code is None, f"roost up ended with {code}:\n{self.log.read_text()}"
        try:
            return self.info().engine.state == "ready"
        except RoostError:
            return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:200]
    except psutil.Error:
        return "?"


def wait_until(holds: Callable[[], bool], timeout_s: float, what: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(_POLL_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def plain_environment(**more: str) -> dict[str, str]:
    """The environment without settings of Roost or Ray, but with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROOST_", "RAY_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return {**kept, "PATH": path, **more}
