"""Ctrl-C at any moment of the start ends the server, with all that it started."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Ran

# Before Python has its own handler, the signal itself ends the process; a shell says 130 to that, too.
CLEAN = {0, 130, -signal.SIGINT}


@pytest.mark.parametrize("after_s", [0.0, 2.0, 6.0])
def test_ctrl_c_during_the_start(
    after_s: float, make_server: Callable[..., ServerProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    server = make_server("interrupted")
    try:
        server.start()
        threading.Event().wait(after_s)
        asked = time.monotonic()
        code = server.interrupt(20.0)
        took_s = time.monotonic() - asked
        with capsys.disabled():
            print(f"\nCtrl-C {after_s:g} s into the start: exit code {code} after {took_s:.2f} s")
        assert code in CLEAN, server.log.read_text()
        assert server.leftovers() == []
        assert not (server.home / "ray" / "cluster.json").exists()
    finally:
        server.stop()


def test_sigterm_and_down_end_it_as_well(
    make_server: Callable[..., ServerProcess], run: Callable[..., Ran]
) -> None:
    server = make_server("ended")
    try:
        server.start()
        lock = server.home / "server.lock"
        _wait(lambda: lock.exists() and lock.stat().st_size > 0)
        ran = run("down", ROOST_HOME=str(server.home))
        assert ran.code == 0
        assert ran.err.startswith(f"The server (pid {server.process.pid}) has ended")
        assert server.process.wait(20.0) in {0, 130}
        assert server.leftovers() == []
    finally:
        server.stop()


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
