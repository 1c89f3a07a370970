"""`roost up` until ready, beside a bare `ray start` plus a first Serve app."""

from __future__ import annotations

import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from bench.processes import free_port, running
from bench.report import table, write
from bench.systems import engine_ready

TARGET = 1.25
HERE = Path(__file__).resolve().parent


def run(rounds: int) -> None:
    """Alternate the two; medians."""
    bare, ours = [], []
    for at in range(rounds):
        bare.append(_bare_ray())
        ours.append(_roost_up())
        print(f"round {at + 1}/{rounds}: ray {bare[-1]:.1f} s, roost up {ours[-1]:.1f} s", flush=True)
    ratio = statistics.median(ours) / statistics.median(bare)
    rows = [
        ("ray start --head, then a first Serve app to RUNNING", f"{statistics.median(bare):.1f}", "1.00"),
        (
            "roost up until ready (Ray, Serve and HAProxy up)",
            f"{statistics.median(ours):.1f}",
            f"{ratio:.2f}",
        ),
    ]
    verdict = f"Target: at most {TARGET} x: {'met' if ratio <= TARGET else 'missed'}."
    about = f"Medians of {rounds} alternating rounds, a fresh home and cluster each.\n"
    command = f"python -m bench startup --rounds {rounds}"
    write("startup", "Start", command, [about, table(("what", "seconds", "ratio"), rows), "", verdict])


def _roost_up() -> float:
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        port = free_port()
        command = [sys.executable, "-m", "roost.cli", "up", "--home", f"{folder}/home", "--port", str(port)]
        started = time.perf_counter()
        with running(
            command, ready=lambda: engine_ready(f"http://127.0.0.1:{port}"), log=Path(folder, "log")
        ):
            return time.perf_counter() - started


def _bare_ray() -> float:
    """Ray as its users start it, with the same ingress, until a first app is RUNNING."""
    token, dashboard = secrets.token_hex(32), free_port()
    with tempfile.TemporaryDirectory(prefix="rb") as folder:
        env = {
            **os.environ,
            "RAY_SERVE_ENABLE_HA_PROXY": "1",
            "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": token,
            "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": f"{folder}/h/haproxy.cfg",
            "RAY_SERVE_HAPROXY_SOCKET_PATH": f"{folder}/h/admin.sock",
            "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": f"{folder}/h",
            "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": f"{folder}/h/server-state",
            "PYTHONPATH": str(HERE / "peers"),
        }
        command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--port", str(free_port())]
        command += ["--dashboard-port", str(dashboard), "--temp-dir", folder, "--min-worker-port", "21000"]
        command += ["--max-worker-port", "21999", "--ray-client-server-port", str(free_port())]
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            if process.wait(180):
                raise RuntimeError("ray start failed")
            _first_app(dashboard, token)
            return time.perf_counter() - started
        finally:
            _end_session(process.pid)


def _first_app(dashboard: int, token: str) -> None:
    url = f"http://127.0.0.1:{dashboard}/api/serve/applications/"
    app = {"name": "first", "route_prefix": "/first", "import_path": "bare_serve:build", "args": {}}
    body = {"http_options": {"host": "127.0.0.1", "port": free_port()}, "applications": [app]}
    _request("PUT", url, token, body)
    deadline = time.monotonic() + 120
    while _request("GET", url, token)["applications"]["first"]["status"] != "RUNNING":
        if time.monotonic() > deadline:
            raise RuntimeError("the first app did not come up")
        time.sleep(0.1)


def _request(method: str, url: str, token: str, body: object = None) -> dict[str, dict[str, dict[str, str]]]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        raw = answer.read()
    found: dict[str, dict[str, dict[str, str]]] = json.loads(raw) if raw else {}
    return found


def _end_session(session: int) -> None:
    left = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session:
                left.append(process)
        except ProcessLookupError:
            continue
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=10)
