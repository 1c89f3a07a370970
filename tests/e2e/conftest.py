"""Real servers with a real embedded Ray, each in a home of its own; one of them serves most tests."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from roost.engine.embedded.cluster import EmbeddedCluster
from roost.testing.server_process import START_TIMEOUT_S, ServerProcess, plain_environment


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.ray)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(600))
    # Never two clusters at once: those with servers of their own come when the shared one can end, and the
    # cluster that no server starts comes last.
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    names = getattr(item, "fixturenames", ())
    return 2 if "existing_ray" in names else 1 if "make_server" in names else 0


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
        timeout=START_TIMEOUT_S,
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
    # Roost starts what fails three times; that Ray does so, too, each time, only takes three times as long.
    ray = {"RAY_SERVE_MAX_PER_REPLICA_RETRY_COUNT": "1"}
    server = ServerProcess(tmp_path_factory.mktemp("shared") / "home", node_cache, **ray)
    _SHARED.append(server)
    try:
        yield server.start_ready()
        server.end()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def existing_ray(
    tmp_path_factory: pytest.TempPathFactory, make_server: Callable[..., ServerProcess], node_cache: Path
) -> Iterator[EmbeddedCluster]:
    """A Ray that no server started, whose nodes find the modules of `tests/e2e/project`."""
    for shared in _SHARED:
        shared.end()
    on_nodes = {"ROOST_CACHE_DIR": str(node_cache), "PYTHONPATH": str(Path(__file__).with_name("project"))}
    ray = EmbeddedCluster(tmp_path_factory.mktemp("existing"), num_cpus=4, environment=on_nodes)
    try:
        ray.start()
        yield ray
    finally:
        ray.stop()


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
def shell(at: ServerProcess, node_cache: Path) -> Callable[[str, Path], subprocess.CompletedProcess[str]]:
    """Runs one line of a user's terminal in a folder."""
    environment = plain_environment(
        ROOST_URL=at.url,
        ROOST_HOME=str(at.home),
        ROOST_CACHE_DIR=str(node_cache),
        PYTHONDONTWRITEBYTECODE="1",
    )

    def run_line(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            check=False,
        )

    return run_line


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
