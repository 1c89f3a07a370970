"""The processes of one cluster: found by their mark, ended without touching any other."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

from roost.engine.embedded.state import ProcessId

MARK: Final = "ROOST_CLUSTER_ID"
_POLL_S: Final = 0.02
_CORE: Final = ("gcs_server", "raylet", "dashboard.py")
_FIRST: Final = ("raylet", "gcs_server")


def find_processes(cluster_id: str, run_dir: Path | None = None) -> list[psutil.Process]:
    """The living processes of the cluster: those marked in their environment, and their whole sessions.

    Ray writes titles over the environment of some processes, so those are known by their session; when
    nothing marked is left of that, by `run_dir`, where all of them work.
    """
    everyone = [process for process in psutil.process_iter() if process.pid != os.getpid()]
    marked = [each for each in everyone if _is_marked(each, cluster_id) or _works_in(each, run_dir)]
    ours = {process.pid for process in marked}
    others = {process.pid for process in everyone} - ours
    # A session led by a living process without the mark is somebody's terminal, not ours.
    sessions = {_session(pid) for pid in ours} - {_session(0), None} - others
    alive = [process for process in everyone if process.pid in ours or _session(process.pid) in sessions]
    return [process for process in alive if _is_alive(process)]


def core_processes(processes: Sequence[psutil.Process]) -> tuple[ProcessId, ...]:
    """The control store, the raylet and the dashboard among `processes`; fewer when one is missing."""
    found = {}
    for process in processes:
        name = _program(process)
        if name in _CORE:
            found[name] = identify(process.pid)
    return tuple(core for name in _CORE if (core := found.get(name)) is not None)


def core_programs(processes: Sequence[psutil.Process]) -> set[str]:
    """Names of the core programs among `processes`."""
    return {name for process in processes if (name := _program(process)) in _CORE}


def identify(pid: int) -> ProcessId | None:
    """The identity of a living process."""
    try:
        process = psutil.Process(pid)
        return ProcessId(pid, process.create_time()) if _is_alive(process) else None
    except psutil.Error:
        return None


def is_running(identity: ProcessId) -> bool:
    """Whether exactly this process still lives."""
    now = identify(identity.pid)
    return now is not None and abs(now.started_at - identity.started_at) < 1.0


def end_processes(
    cluster_id: str, run_dir: Path | None = None, *, grace_s: float, kill_s: float = 1.0
) -> int:
    """End all processes of the cluster; returns how many there were. Zombies count as ended.

    The raylet and the control store are asked first (the raylet ends its workers), after `grace_s`
    all that is left is killed. Takes at most about `grace_s + kill_s` seconds.
    """
    found = find_processes(cluster_id, run_dir)
    first = [process for process in found if _program(process) in _FIRST]
    for process in first or found:
        _signal(process, kill=False)
    _wait_until_gone(found, grace_s)
    deadline = time.monotonic() + kill_s
    # What is killed may just have started a process, so look until there is none.
    while left := find_processes(cluster_id, run_dir):
        for process in left:
            _signal(process, kill=True)
        _wait_until_gone(left, 0.2)
        if time.monotonic() > deadline:
            break
    return len(found)


def _wait_until_gone(processes: Sequence[psutil.Process], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while any(_is_alive(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _is_marked(process: psutil.Process, cluster_id: str) -> bool:
    try:
        return process.environ().get(MARK) == cluster_id
    except (psutil.Error, OSError):
        return False


def _works_in(process: psutil.Process, run_dir: Path | None) -> bool:
    """Whether it does, and is nobody's shell who looks around there."""
    try:
        return run_dir is not None and process.cwd() == str(run_dir) and process.terminal() is None
    except (psutil.Error, OSError):
        return False


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _program(process: psutil.Process) -> str:
    """The program's file name; of a Python process that of its script."""
    try:
        words = [word.rsplit("/", 1)[-1] for word in process.cmdline()[:4]]
    except psutil.Error:
        return ""
    if words and words[0].startswith("python"):
        return next((word for word in words[1:] if word.endswith(".py")), words[0])
    return words[0] if words else ""


def _signal(process: psutil.Process, *, kill: bool) -> None:
    try:
        process.kill() if kill else process.terminate()
    except psutil.NoSuchProcess:
        return
