"""The embedded cluster with a real Ray: started, adopted, interrupted, killed, ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.embedded.exposure import open_ports
from roost.engine.embedded.processes import MARK, find_processes, identify
from roost.engine.embedded.state import find_state
from roost.engine.serve_api import ServeApi
from roost.errors import EngineStartFailed, EngineUnavailable

START_TIMEOUT_S = 240


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster(tmp_path, timeout_s=START_TIMEOUT_S)
    yield cluster
    cluster.stop(fast=True)
    assert_nothing_left(tmp_path)


def assert_nothing_left(home: Path) -> None:
    assert find_state(home / "ray" / "cluster.json") is None
    marked = [process for process in psutil.process_iter() if mark_of(process) is not None]
    assert not [process for process in marked if str(home) in " ".join(process.environ().values())]


def mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except (psutil.Error, OSError):
        return None


def wait_until_dead(cluster: EmbeddedCluster, patience_s: float = 5.0) -> None:
    deadline = time.monotonic() + patience_s
    while cluster.alive():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def details_of(cluster: EmbeddedCluster, token: str | None) -> dict[str, Any]:
    api = ServeApi(cluster.dashboard_url, token)
    try:
        return api.get()
    finally:
        api.close()


@pytest.mark.ray
def test_one_life_from_start_over_a_killed_server_to_the_end(tmp_path: Path) -> None:
    """One start serves many checks, since a start costs half a minute."""
    steps: list[str] = []
    first = EmbeddedCluster(tmp_path, timeout_s=START_TIMEOUT_S)
    first.start(on_progress=steps.append)
    try:
        assert steps[0] == "Starting Ray"
        assert first.alive()
        assert open_ports(first) == []
        assert (tmp_path / "ray" / "cluster.json").stat().st_mode & 0o777 == 0o600
        assert (first.log_dir / "raylet.out").exists()
        processes = find_processes(first.state.cluster_id)
        assert os.getpid() not in {process.pid for process in processes}

        details = details_of(first, first.token)
        assert details["http_options"]["host"] == "127.0.0.1"
        assert [proxy["status"] for proxy in details["proxies"].values()] == ["HEALTHY"]
        with pytest.raises(EngineUnavailable, match="401"):
            details_of(first, None)

        # A server that was killed left all this; the next one takes it over as it is.
        second = EmbeddedCluster(tmp_path)
        assert second.adopt()
        assert (second.serve_url, second.token) == (first.serve_url, first.token)
        assert second.state == first.state

        # One with other settings must not.
        stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        raylet = next(process for process in processes if process.name() == "raylet")
        raylet.kill()
        wait_until_dead(second)
        started = time.monotonic()
        assert not EmbeddedCluster(tmp_path, num_gpus=3).adopt()
        assert time.monotonic() - started < 3.0
        assert stranger.poll() is None
        stranger.communicate(b"\n")
        assert not [process for process in processes if identify(process.pid) is not None]
        assert find_processes(first.state.cluster_id) == []
        assert not Path(first.state.run_dir).exists()
    finally:
        first.stop(fast=True)
    assert_nothing_left(tmp_path)


@pytest.mark.ray
@pytest.mark.parametrize("after_s", [0.0, 0.3, 6.0])
def test_a_start_can_be_interrupted_at_any_moment(cluster: EmbeddedCluster, after_s: float) -> None:
    abort = threading.Event()
    interrupted_at: list[float] = []

    def interrupt() -> None:
        interrupted_at.append(time.monotonic())
        abort.set()

    timer = threading.Timer(after_s, interrupt)
    timer.start()
    with pytest.raises(EngineStartFailed, match="interrupted"):
        cluster.start(abort)
    assert time.monotonic() - interrupted_at[0] < 2.0
    assert not cluster.alive()


@pytest.mark.ray
def test_a_control_store_that_dies_during_the_start_is_noticed_with_its_log(
    cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    killed_at: list[float] = []

    def kill_control_store() -> None:
        while not killed_at:
            state = find_state(tmp_path / "ray" / "cluster.json")
            for process in find_processes(state.cluster_id) if state else ():
                if process.name() == "gcs_server":
                    # Long enough for one look of the watcher.
                    time.sleep(1.0)
                    process.kill()
                    killed_at.append(time.monotonic())
            time.sleep(0.1)

    killer = threading.Thread(target=kill_control_store)
    killer.start()
    with pytest.raises(EngineStartFailed) as caught:
        cluster.start()
    killer.join()
    assert time.monotonic() - killed_at[0] < 5.0
    kept = tmp_path / "ray" / "failed-start"
    assert str(kept) in str(caught.value)
    assert (kept / "start.log").exists()


@pytest.mark.ray
def test_a_start_that_takes_too_long_fails_and_leaves_nothing(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(tmp_path, timeout_s=3.0)
    started = time.monotonic()
    with pytest.raises(EngineStartFailed, match="not ready within 3 s"):
        cluster.start()
    assert time.monotonic() - started < 3.0 + 3.0
    assert_nothing_left(tmp_path)
    cluster.stop()


@pytest.mark.ray
def test_a_server_killed_during_the_start_leaves_what_the_next_one_ends(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom roost.engine.embedded.cluster import EmbeddedCluster\n"
        "EmbeddedCluster(pathlib.Path(sys.argv[1])).start(on_progress=lambda s: print(s, flush=True))"
    )
    server = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdout.readline() == "Starting Ray\n"
    time.sleep(3.0)
    server.send_signal(signal.SIGKILL)
    server.communicate()
    state = find_state(tmp_path / "ray" / "cluster.json")
    assert state is not None
    assert state.phase == "starting"
    assert find_processes(state.cluster_id)

    after = EmbeddedCluster(tmp_path)
    assert not after.adopt()
    assert find_processes(state.cluster_id) == []
    assert not Path(state.run_dir).exists()
    assert_nothing_left(tmp_path)


@pytest.mark.ray
def test_a_port_of_ray_that_is_taken_fails_with_rays_own_reason(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(tmp_path, timeout_s=START_TIMEOUT_S)
    cluster.reserve()
    try:
        # Reusing the address, as servers do: a connection that an earlier Ray closed may still linger there.
        taken = socket.create_server(("127.0.0.1", cluster.ports.dashboard))
        with taken, pytest.raises(EngineStartFailed, match=str(cluster.ports.dashboard)):
            cluster.start()
    finally:
        cluster.stop(fast=True)
    assert_nothing_left(tmp_path)


def test_nothing_to_adopt_and_nothing_to_end_is_fine(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(tmp_path)
    assert not cluster.adopt()
    assert not cluster.end_remains()
    assert not cluster.alive()
    cluster.stop()
    cluster.stop(fast=True)
