"""Runs `roost up` beside the demo, in a home of its own, and ends it again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import roost
from roost.client import Client, control_calls

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 60.0


@contextmanager
def running_server(home: Path) -> Iterator[str]:
    """A server with an embedded Ray; yields its URL once Ray is ready."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    log = home / "server.log"
    home.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "roost.cli", "up", "--home", str(home), "--port", str(port)],
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_ready(url, process, log)
        os.environ["ROOST_URL"] = url
        os.environ["ROOST_HOME"] = str(home)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with Client(url, max_retries=0) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise SystemExit(f"roost up ended with {process.returncode}:\n{log.read_text()}")
            try:
                if client.run(control_calls.info()).engine.state == "ready":
                    return
            except roost.RoostError:
                pass
            time.sleep(0.2)
    raise SystemExit(f"roost up was not ready within {START_TIMEOUT_S:g} s:\n{log.read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
