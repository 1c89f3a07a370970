"""Starts the systems under test and ends them, with all their children, by session."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

START_TIMEOUT_S = 240.0


@contextmanager
def running(
    command: Sequence[str], *, ready: Callable[[], object], log: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends; `ready` is called until it no longer raises `OSError`."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )
    try:
        _wait(process, ready, log)
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, then whatever is left of its session."""
    session = _session(process.pid)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for found in session:
        with suppress(psutil.NoSuchProcess):
            found.terminate()
    _, stubborn = psutil.wait_procs(session, timeout=10)
    for found in stubborn:
        with suppress(psutil.NoSuchProcess):
            found.kill()


def free_port() -> int:
    """A TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _session(leader: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.pid != leader:
                found.append(process)
        except ProcessLookupError:
            continue
    return found


def _wait(process: subprocess.Popen[bytes], ready: Callable[[], object], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        if process.poll() is not None:
            raise RuntimeError(
                f"{process.args!r} ended with {process.returncode}:\n{log.read_text()[-4000:]}"
            )
        try:
            ready()
        except OSError as error:
            if time.monotonic() > deadline:
                raise RuntimeError(f"not ready: {error}\n{log.read_text()[-4000:]}") from error
            time.sleep(0.2)
        else:
            return
