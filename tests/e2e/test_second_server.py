"""`roost up` beside a server that runs, and commands where none does. Nothing here starts a Ray."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Ran


def test_a_port_that_is_taken(run: Callable[..., Ran], tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        ran = run("up", "--home", str(tmp_path / "home"), "--port", str(port))
    assert (ran.code, ran.out) == (1, "")
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use" in ran.err
    assert ran.err.splitlines()[-1].startswith("  hint: Choose another port with --port")
    assert not (tmp_path / "home" / "ray").exists()
    again = run("up", "--home", str(tmp_path / "home"), "--port", "0")
    assert again.code == 2


def test_a_home_that_is_taken(run: Callable[..., Ran], server: ServerProcess) -> None:
    ran = run("up", "--home", str(server.home), "--port", "7999")
    assert ran.code == 1
    assert f"pid {server.process.pid} at {server.url}" in ran.err
    assert f"`roost down --home {server.home}`" in ran.err.splitlines()[-1]
    assert server.info().engine.state == "ready"


def test_an_open_server_is_refused(run: Callable[..., Ran], tmp_path: Path) -> None:
    ran = run("up", "--home", str(tmp_path), "--host", "0.0.0.0", "--port", "7999")
    assert ran.code == 1
    assert "'0.0.0.0' can be reached from other machines" in ran.err
    assert "--insecure" in ran.err.splitlines()[-1]


def test_commands_without_a_server(run: Callable[..., Ran], tmp_path: Path) -> None:
    environment = {"ROOST_URL": "http://127.0.0.1:9", "ROOST_HOME": str(tmp_path)}
    ran = run("status", **environment)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        "error: No Roost server answers at 'http://127.0.0.1:9'.",
        "  hint: Start one with `roost up`, or set ROOST_URL to where it runs.",
    ]
    assert run("deployments", "--json", **environment).error == {
        "code": "unavailable",
        "reason": "server_unreachable",
        "message": "No Roost server answers at 'http://127.0.0.1:9'.",
        "requestId": "",
        "hint": "Start one with `roost up`, or set ROOST_URL to where it runs.",
    }
    doctor = run("doctor", **environment)
    assert doctor.code == 1
    assert "No Roost server answers" in doctor.out
    down = run("down", **environment)
    assert (down.code, down.err.strip()) == (0, f"No server runs in {tmp_path}.")
