"""Real servers with a real embedded Ray, each in a home of its own; one of them serves most tests."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest

from roost.client import Client, control_calls
from roost.contracts.info import ServerInfo
from roost.daemon import HomeLock
from roost.engine.embedded.processes import find_processes
from roost.engine.embedded.state import ClusterState, find_state
from roost.engine.serve_api import ServeApi
from roost.errors import RoostError

START_TIMEOUT_S = 240.0
STOP_TIMEOUT_S = 60.0
_MARK = "E2E_SERVER"
_POLL_S = 0.1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.ray)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(600))
    # Those with servers of their own come last, when the shared one can end: never two clusters at once.
    items.sort(key=lambda item: "make_server" in getattr(item, "fixturenames", ()))


def wait_until(holds: Callable[[], bool], timeout_s: float, what: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(_POLL_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def plain_environment(**more: str) -> dict[str, str]:
    """The environment without settings of Roost or Ray, but with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROOST_", "RAY_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return {**kept, "PATH": path, **more}


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> dict[str, Any]:
        """What `--json` says of the error."""
        detail: dict[str, Any] = json.loads(self.err)["error"]
        return detail


class ServerProcess:
    """`roost up` in a home; may be ended and started again there."""

    def __init__(self, home: Path, cache: Path, **environment: str) -> None:
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = home.with_suffix(".log")
        self.clusters: list[ClusterState] = []
        self._mark = uuid.uuid4().hex
        self._environment = plain_environment(
            ROOST_HOME=str(home),
            ROOST_CACHE_DIR=str(cache),
            ROOST_PORT=str(self.port),
            ROOST_START_TIMEOUT_S=str(START_TIMEOUT_S),
            **{_MARK: self._mark},
            **environment,
        )
        self._client = Client(self.url, max_retries=0)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def start(self) -> ServerProcess:
        """Start it; returns at once."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "roost.cli", "up"],
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def start_ready(self) -> ServerProcess:
        """Start it; returns when Ray is up."""
        self.start()
        self.wait_ready()
        return self

    def wait_ready(self) -> None:
        wait_until(self._is_ready, START_TIMEOUT_S, f"ready\n{self.log.read_text()}")
        self.note_cluster()

    def info(self) -> ServerInfo:
        return self._client.run(control_calls.info())

    def cluster(self) -> ClusterState:
        """The cluster that its home knows now."""
        state = find_state(self.home / "ray" / "cluster.json")
        assert state is not None
        return state

    def note_cluster(self) -> None:
        """Remember its present cluster, so that `leftovers` looks for that, too."""
        state = find_state(self.home / "ray" / "cluster.json")
        if state is not None and state.cluster_id not in {known.cluster_id for known in self.clusters}:
            self.clusters.append(state)

    def ray_application(self, name: str) -> dict[str, Any]:
        """What Ray says of one application."""
        state = self.cluster()
        api = ServeApi(f"http://127.0.0.1:{state.ports.dashboard}", state.token)
        try:
            found: dict[str, Any] = api.get()["applications"][name]
            return found
        finally:
            api.close()

    def interrupt(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Ctrl-C; the exit code."""
        self.note_cluster()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout_s)
        self.note_cluster()
        return code

    def end(self) -> None:
        """End it as a user does, when it still runs; nothing of it may be left."""
        if self.process.poll() is None:
            assert self.interrupt() == 0
            assert self.leftovers() == []

    def kill(self) -> None:
        """End it without a chance to do anything; its Ray goes on."""
        self.note_cluster()
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)

    def stop(self) -> None:
        """End it in whatever state it is, with its Ray."""
        if self._process is not None and self._process.poll() is None:
            try:
                self.interrupt()
            except subprocess.TimeoutExpired:
                self.kill()
        self._client.close()
        subprocess.run([sys.executable, "-m", "roost.cli", "down"], env=self._environment, check=False)

    def leftovers(self) -> list[str]:
        """Every trace it left outside its home: processes, run folders, its lock."""
        processes = {process.pid: process for process in psutil.process_iter() if self._is_marked(process)}
        for cluster in self.clusters:
            processes |= {process.pid: process for process in find_processes(cluster.cluster_id)}
        found = [f"process {pid}: {_command(process)}" for pid, process in processes.items()]
        found += [cluster.run_dir for cluster in self.clusters if Path(cluster.run_dir).exists()]
        if not HomeLock(self.home).is_free():
            found.append("the lock of the home")
        return found

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            is_alive = process.status() != psutil.STATUS_ZOMBIE
            return is_alive and process.environ().get(_MARK) == self._mark
        except (psutil.Error, OSError):
            return False

    def _is_ready(self) -> bool:
        code = self.process.poll()
        assert code is None, f"roost up ended with {code}:\n{self.log.read_text()}"
        try:
            return self.info().engine.state == "ready"
        except RoostError:
            return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:200]
    except psutil.Error:
        return "?"


_SHARED: list[ServerProcess] = []


class Project:
    """A folder of the user's own modules, importable by this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, module: str) -> Any:
        """The module as its file is now."""
        sys.modules.pop(module, None)
        importlib.invalidate_caches()
        return importlib.import_module(module)

    def edit(self, module: str, old: str, new: str) -> Any:
        """Change a module's file; the changed module."""
        file = self.folder / f"{module}.py"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)
        return self.load(module)


def run_cli(*arguments: str, **environment: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "roost.cli", *arguments],
        env=plain_environment(**environment),
        capture_output=True,
        text=True,
        timeout=STOP_TIMEOUT_S * 4,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def run() -> Callable[..., Ran]:
    """Runs `roost ...` with no settings but those given."""
    return run_cli


@pytest.fixture(scope="session")
def node_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared by all servers of a run, as on one machine."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def make_server(tmp_path_factory: pytest.TempPathFactory, node_cache: Path) -> Callable[..., ServerProcess]:
    """Makes a server with a home of its own, not started yet; variables are given by name."""

    def make(name: str, **environment: str) -> ServerProcess:
        for shared in _SHARED:
            shared.end()
        return ServerProcess(tmp_path_factory.mktemp(name) / "home", node_cache, **environment)

    return make


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, node_cache: Path) -> Iterator[ServerProcess]:
    """The server of most tests; nothing of it may be left at the end."""
    server = ServerProcess(tmp_path_factory.mktemp("shared") / "home", node_cache)
    _SHARED.append(server)
    try:
        yield server.start_ready()
        server.end()
    finally:
        server.stop()


@pytest.fixture
def at(server: ServerProcess, node_cache: Path, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    """The session's server, with the SDK of this process pointed at it."""
    monkeypatch.setenv("ROOST_URL", server.url)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(node_cache))
    return server


@pytest.fixture
def cli(at: ServerProcess, node_cache: Path) -> Callable[..., Ran]:
    """Runs `roost ...` against the session's server."""

    def run(*arguments: str) -> Ran:
        return run_cli(*arguments, ROOST_URL=at.url, ROOST_HOME=str(at.home), ROOST_CACHE_DIR=str(node_cache))

    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of `tests/e2e/project`."""
    folder = tmp_path / "project"
    shutil.copytree(Path(__file__).with_name("project"), folder)
    monkeypatch.syspath_prepend(folder)
    return Project(folder)


@pytest.fixture(scope="session")
def picture() -> Callable[[str], Path]:
    """Paths of scikit-image's pictures; only its files are installed."""
    spec = find_spec("skimage")
    assert spec is not None
    assert spec.submodule_search_locations
    data = Path(spec.submodule_search_locations[0]) / "data"
    return lambda name: data / name
