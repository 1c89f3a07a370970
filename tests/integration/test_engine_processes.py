"""Finding and ending exactly the marked processes, with real ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.engine.embedded.processes import MARK, end_processes, find_processes, identify, is_running
from roost.engine.embedded.state import ProcessId

SLEEP = "import time, sys; print('up', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(
    started: list[subprocess.Popen[str]], code: str, mark: str | None, *, new_session: bool = True
) -> subprocess.Popen[str]:
    env = {**os.environ, **({MARK: mark} if mark else {})}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=new_session,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    started.append(process)
    return process


def pids(cluster_id: str) -> set[int]:
    return {process.pid for process in find_processes(cluster_id)}


def test_only_the_marked_are_found_and_ended(started: list[subprocess.Popen[str]]) -> None:
    ours = start(started, SLEEP, "cluster-1")
    other = start(started, SLEEP, "cluster-2")
    stranger = start(started, SLEEP, None)
    assert pids("cluster-1") == {ours.pid}
    assert end_processes("cluster-1", grace_s=1.0) == 1
    assert ours.wait(5) is not None
    assert other.poll() is None
    assert stranger.poll() is None
    assert end_processes("cluster-1", grace_s=1.0) == 0


def test_a_member_of_our_session_that_lost_its_mark_is_ours(started: list[subprocess.Popen[str]]) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], env={})\n"
        "print('up', flush=True)\nchild.wait()"
    )
    leader = start(started, code, "cluster-1")
    assert len(pids("cluster-1")) == 2
    assert end_processes("cluster-1", grace_s=0.2) == 2
    assert leader.wait(5) is not None
    assert pids("cluster-1") == set()


def test_a_marked_process_in_our_own_session_does_not_make_us_one_of_them(
    started: list[subprocess.Popen[str]],
) -> None:
    ours = start(started, SLEEP, "cluster-1", new_session=False)
    assert pids("cluster-1") == {ours.pid}


def test_what_ignores_sigterm_is_killed_within_two_seconds(started: list[subprocess.Popen[str]]) -> None:
    ours = start(started, STUBBORN, "cluster-1")
    begun = time.monotonic()
    assert end_processes("cluster-1", grace_s=0.5) == 1
    assert time.monotonic() - begun < 2.0
    assert ours.wait(5) == -9


def test_a_zombie_counts_as_ended(started: list[subprocess.Popen[str]]) -> None:
    ours = start(started, SLEEP, "cluster-1")
    identity = identify(ours.pid)
    assert identity is not None
    assert is_running(identity)
    ours.kill()
    deadline = time.monotonic() + 5
    while is_running(identity):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert ours.returncode is None
    assert pids("cluster-1") == set()


def test_a_later_process_with_the_same_pid_is_another(started: list[subprocess.Popen[str]]) -> None:
    ours = start(started, SLEEP, None)
    identity = identify(ours.pid)
    assert identity is not None
    assert not is_running(ProcessId(identity.pid, identity.started_at - 60))
    assert identify(2**22 + 1) is None


def test_one_that_lost_its_mark_and_its_session_is_known_by_its_folder(
    started: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    elsewhere = start(started, SLEEP, None)
    orphan = start(started, f"import os; os.chdir({str(tmp_path)!r}); {SLEEP}", None)
    assert pids("cluster-1") == set()
    assert {process.pid for process in find_processes("cluster-1", tmp_path)} == {orphan.pid}
    assert end_processes("cluster-1", tmp_path, grace_s=0.5) == 1
    assert orphan.wait(5) is not None
    assert elsewhere.poll() is None
