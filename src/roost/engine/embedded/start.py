"""One attempt to start Ray and Serve, watched from outside."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from roost.engine.embedded.command import log_dir
from roost.engine.embedded.failure import keep_logs, start_failed
from roost.engine.embedded.host import ALL_INTERFACES, LOOPBACK
from roost.engine.embedded.launch import launch
from roost.engine.embedded.processes import core_programs, find_processes
from roost.engine.embedded.serve_start import ServeStart
from roost.engine.embedded.state import ClusterState
from roost.engine.serve_api import ServeApi
from roost.errors import EngineStartFailed
from roost.hosts import is_loopback

_POLL_S: Final = 0.05
_LOOK_EVERY_S: Final = 0.5


class StartAttempt:
    """Runs `ray start` in a session of its own and PUTs to Serve meanwhile.

    Args:
        kept_logs: Where the logs go when it fails.
    """

    def __init__(
        self, state: ClusterState, *, command: list[str], environment: dict[str, str], kept_logs: Path
    ) -> None:
        self._state = state
        self._command = command
        self._environment = environment
        self._kept_logs = kept_logs
        self._seen: set[str] = set()

    def run(
        self, should_abort: Callable[[], bool], on_progress: Callable[[str], None], *, timeout_s: float
    ) -> None:
        """Return when Serve is healthy. The caller ends the processes when this raises.

        Raises:
            EngineStartFailed: see `EmbeddedCluster.start`.
        """
        deadline = time.monotonic() + timeout_s
        on_progress("Starting Ray")
        api = ServeApi(f"http://{LOOPBACK}:{self._state.ports.dashboard}", self._state.token)
        # Serve gives replicas on all machines the same address to listen on.
        host = LOOPBACK if is_loopback(self._state.host) else ALL_INTERFACES
        serve = ServeStart(api, host=host, port=self._state.ports.serve)
        ray = launch(self._command, self._environment, Path(self._state.run_dir))
        serve.begin()
        try:
            self._watch(ray, serve, should_abort, on_progress, deadline)
        except TimeoutError:
            raise self._failed(f"Ray was not ready within {timeout_s:g} s{_last_error(serve)}.", []) from None
        finally:
            serve.stop()
            if ray.poll() is None:
                ray.kill()
            ray.wait()

    def _watch(
        self,
        ray: subprocess.Popen[bytes],
        serve: ServeStart,
        should_abort: Callable[[], bool],
        on_progress: Callable[[str], None],
        deadline: float,
    ) -> None:
        started = False
        next_look = time.monotonic() + _LOOK_EVERY_S
        while not (started and serve.done.is_set()):
            if should_abort():
                raise EngineStartFailed("The start of Ray was interrupted.")
            if serve.refused:
                raise self._failed(f"Serve did not start: {serve.error}", ["dashboard.py"])
            if not started and ray.poll() is not None:
                if ray.returncode != 0:
                    raise self._failed(f"`ray start` ended with exit code {ray.returncode}.", [])
                started = True
                on_progress("Starting Serve")
            if time.monotonic() >= next_look:
                self._look_for_dead()
                next_look = time.monotonic() + _LOOK_EVERY_S
            if time.monotonic() > deadline:
                raise TimeoutError
            serve.done.wait(_POLL_S) if started else _wait(ray)

    def _look_for_dead(self) -> None:
        alive = core_programs(find_processes(self._state.cluster_id))
        dead = sorted(self._seen - alive)
        self._seen |= alive
        if dead:
            raise self._failed(f"{' and '.join(dead)} of Ray died while it was starting.", dead)

    def _failed(self, what: str, dead: list[str]) -> EngineStartFailed:
        keep_logs(Path(self._state.run_dir) / "start.log", log_dir(self._state), self._kept_logs)
        return start_failed(what, self._kept_logs, dead)


def _wait(ray: subprocess.Popen[bytes]) -> None:
    try:
        ray.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return


def _last_error(serve: ServeStart) -> str:
    return f" ({serve.error.message.rstrip('.')})" if serve.error else ""
