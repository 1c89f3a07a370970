"""The one server of a home folder: holds its lock, says where it is, and can be ended from outside."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from roost.engine.embedded.cluster import EmbeddedCluster
from roost.errors import BadRequest, Conflict
from roost.file_lock import FileLock
from roost.settings import read_settings

_POLL_S = 0.05


class HomeLock:
    """Held by the server of a home for as long as it lives; the kernel frees it when the process dies.

    The lock's file says who holds it: `{"pid", "started_at", "url"}`.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = FileLock(home / "server.lock")

    def take(self, url: str) -> None:
        """Take the lock, or say which server has it.

        Raises:
            Conflict: naming the other server.
            BadRequest: the home cannot be written to.
        """
        state = {"pid": os.getpid(), "started_at": psutil.Process().create_time(), "url": url}
        try:
            taken = self._lock.take(json.dumps(state))
        except OSError as error:
            raise BadRequest(
                f"home {str(self._home)!r} cannot be used: {error.strerror or error}.",
                hint="Name a folder that you may write to, with --home or ROOST_HOME.",
            ) from error
        if not taken:
            holder = self.holder() or {}
            raise Conflict(
                f"A Roost server already runs in {str(self._home)!r}: "
                f"pid {holder.get('pid', '?')} at {holder.get('url', '?')}.",
                hint=f"Use it, end it with `roost down --home {self._home}`, or take another --home.",
            )

    def is_free(self) -> bool:
        """Whether no server holds it now."""
        return self._lock.is_free()

    def holder(self) -> dict[str, Any] | None:
        """What the last holder wrote; None when that cannot be read."""
        try:
            found = json.loads(self._lock.find_content() or b"")
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; with `remove` no file of it is left."""
        self._lock.release(remove=remove)


def end_server(flags: dict[str, Any], timeout_s: float) -> str:
    """End the server of a home, by force after `timeout_s`, and what is left of its Ray; says what it did."""
    settings = read_settings(flags)
    lock = HomeLock(settings.home_dir)
    said = "No server runs"
    if not lock.is_free():
        said = _end_holder(lock, timeout_s)
    if EmbeddedCluster(settings.home_dir).end_remains():
        said += "; an embedded Ray that was left over is ended"
    return f"{said} in {settings.home_dir}."


def _end_holder(lock: HomeLock, timeout_s: float) -> str:
    process = _process(lock.holder())
    if process is None:
        raise Conflict(
            "A server holds the lock of this home, but its process is not on this machine.",
            hint="Is the home on a shared file system? End the server where it runs.",
        )
    process.send_signal(signal.SIGTERM)
    if _wait(lock.is_free, timeout_s):
        return f"The server (pid {process.pid}) has ended"
    process.kill()
    _wait(lock.is_free, 10.0)
    return f"The server (pid {process.pid}) did not end within {timeout_s:g} s and was killed"


def _process(holder: dict[str, Any] | None) -> psutil.Process | None:
    """The holder's process; its start time tells it from a later one with the same pid."""
    if holder is None:
        return None
    try:
        process = psutil.Process(int(holder["pid"]))
        same = abs(process.create_time() - float(holder["started_at"])) < 1.0
    except (KeyError, ValueError, TypeError, psutil.NoSuchProcess):
        return None
    return process if same else None


def _wait(done: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
