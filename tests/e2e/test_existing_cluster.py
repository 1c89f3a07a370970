"""Servers on a Ray that somebody else runs: they use it, and leave all of it as it is when they end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import roost
from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.serve_api import ServeApi
from roost.testing.dashboard_proxy import DashboardProxy
from roost.testing.server_process import ServerProcess, wait_until

if TYPE_CHECKING:
    from tests.e2e.conftest import Project, Ran

TIMEOUT_S = 120.0
PACKAGE = Path(roost.__file__).parent
STRANGER = {"name": "stranger", "route_prefix": "/stranger", "import_path": "stranger:app"}


@pytest.fixture(scope="module")
def serve(existing_ray: EmbeddedCluster) -> Iterator[ServeApi]:
    """The cluster as its owner sees it."""
    api = ServeApi(existing_ray.dashboard_url, existing_ray.token)
    yield api
    api.close()


@pytest.fixture(scope="module")
def proxy(existing_ray: EmbeddedCluster) -> Iterator[DashboardProxy]:
    with DashboardProxy(existing_ray.dashboard_url) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def guest(
    make_server: Callable[..., ServerProcess], existing_ray: EmbeddedCluster, proxy: DashboardProxy
) -> Iterator[ServerProcess]:
    """A server that uses the cluster; tests start it."""
    server = make_server(
        "guest",
        ROOST_RAY_DASHBOARD_URL=proxy.url,
        ROOST_RAY_TOKEN=existing_ray.token,
        ROOST_SERVE_URL=existing_ray.serve_url,
    )
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _point_at(guest: ServerProcess, node_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_URL", guest.url)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(node_cache))


def application(serve: ServeApi, name: str) -> dict[str, Any]:
    found: dict[str, Any] = serve.get()["applications"][name]
    return found


def config_and_replicas(serve: ServeApi, name: str) -> tuple[str, list[str]]:
    """The application as it was PUT, byte by byte, and its replicas."""
    found = application(serve, name)
    replicas = [replica for part in found["deployments"].values() for replica in part["replicas"]]
    return json.dumps(found["deployed_app_config"]), [replica["replica_id"] for replica in replicas]


def is_running(serve: ServeApi, name: str) -> bool:
    found = serve.get()["applications"].get(name)
    return found is not None and found["status"] == "RUNNING"


def ask(url: str) -> Any:
    return httpx2.get(url, timeout=30).raise_for_status().json()


def test_servers_come_and_go_and_nothing_on_the_cluster_ends(
    guest: ServerProcess,
    proxy: DashboardProxy,
    serve: ServeApi,
    existing_ray: EmbeddedCluster,
    project: Project,
) -> None:
    serve.put(
        {
            "proxy_location": "HeadOnly",
            "http_options": {"host": "127.0.0.1", "port": existing_ray.ports.serve},
            "applications": [STRANGER],
        }
    )
    wait_until(lambda: is_running(serve, "stranger"), TIMEOUT_S, "the stranger runs")
    stranger = config_and_replicas(serve, "stranger")
    stranger_pid = ask(f"{existing_ray.serve_url}/stranger")

    guest.start_ready()
    assert (guest.info().engine.embedded, guest.info().engine.message) == (False, "")
    assert guest.info().leader == guest.info().name
    roost.register_model(project.load("witness").Witness, "existing", "witness")
    deployment = roost.deploy_model("existing", "witness", "imported", wait=True, timeout=TIMEOUT_S)
    assert deployment.url == f"{existing_ray.serve_url}/r/existing/witness/imported"
    runtime = ask(f"{deployment.url}/roost")
    assert "/runtime_resources/py_modules_files/" in runtime["file"]
    assert runtime["version"] == roost.__version__
    pid = ask(f"{deployment.url}/pid")
    assert config_and_replicas(serve, "stranger") == stranger

    assert guest.interrupt() == 0
    assert guest.leftovers() == []
    assert (ask(f"{deployment.url}/pid"), ask(f"{existing_ray.serve_url}/stranger")) == (pid, stranger_pid)

    puts, looks = len(proxy.puts), proxy.looks
    guest.start_ready()
    wait_until(lambda: proxy.looks >= looks + 3, TIMEOUT_S, "it looked at Ray three times")
    assert roost.model_serving_status(deployment.key).phase == "running"
    assert len(proxy.puts) == puts

    guest.kill()
    assert (ask(f"{deployment.url}/pid"), ask(f"{existing_ray.serve_url}/stranger")) == (pid, stranger_pid)
    assert config_and_replicas(serve, "stranger") == stranger


def test_another_version_of_the_server_ships_its_own_runtime(
    make_server: Callable[..., ServerProcess],
    proxy: DashboardProxy,
    serve: ServeApi,
    existing_ray: EmbeddedCluster,
    guest: ServerProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The workers' own Roost is that of these tests; the server's says another version and notes builds."""
    package = tmp_path / "newer" / "roost"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    built = tmp_path / "built"
    edit(package / "__init__.py", f'__version__ = "{roost.__version__}"', '__version__ = "9.9.9"')
    edit(
        package / "replica" / "builder.py",
        "    require_installed()\n    spec =",
        f"    require_installed()\n    open({str(built)!r}, 'w').write(__file__)\n    spec =",
    )
    newer = make_server(
        "guest",
        PYTHONPATH=str(package.parent),
        ROOST_DATABASE_URL=f"sqlite:///{guest.home}/roost.db",
        ROOST_STORAGE_URL=(guest.home / "storage").as_uri(),
        ROOST_RAY_DASHBOARD_URL=proxy.url,
        ROOST_RAY_TOKEN=existing_ray.token,
        ROOST_SERVE_URL=existing_ray.serve_url,
    )
    before = application(serve, "existing__witness__imported")["deployed_app_config"]
    try:
        newer.start_ready()
        assert newer.info().version == "9.9.9"
        monkeypatch.setenv("ROOST_URL", newer.url)
        deployment = roost.deploy_model("existing", "witness", "imported", wait=True, timeout=TIMEOUT_S)
        runtime = ask(f"{deployment.url}/roost")
        assert runtime["version"] == "9.9.9"
        assert "/runtime_resources/py_modules_files/" in runtime["file"]
        assert "/runtime_resources/py_modules_files/" in built.read_text()
        after = application(serve, "existing__witness__imported")["deployed_app_config"]
        assert after["runtime_env"]["py_modules"] == [after["args"].pop("runtimeZip")]
        assert before["runtime_env"]["py_modules"] == [before["args"].pop("runtimeZip")]
        assert after["runtime_env"] != before["runtime_env"]
        assert after["args"] == before["args"]
        assert after["deployments"] == before["deployments"]
    finally:
        newer.stop()


def test_a_wrong_token_is_said_and_the_server_goes_on(
    make_server: Callable[..., ServerProcess],
    existing_ray: EmbeddedCluster,
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = make_server(
        "stray", ROOST_RAY_DASHBOARD_URL=existing_ray.dashboard_url, ROOST_RAY_TOKEN="0" * 64
    )
    try:
        server.start()
        wait_until(lambda: "refuses our token" in status(server), TIMEOUT_S, "the token is refused")
        shown = run("doctor", ROOST_URL=server.url)
        assert shown.code == 1
        assert "refuses our token (403). Set ROOST_RAY_TOKEN" in " ".join(shown.out.split())
        monkeypatch.setenv("ROOST_URL", server.url)
        assert list(roost.list_models()) == []
    finally:
        server.stop()


def status(server: ServerProcess) -> str:
    try:
        engine = server.info().engine
    except roost.RoostError:
        return ""
    return engine.message if engine.state == "unreachable" else ""


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
