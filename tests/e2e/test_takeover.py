"""Two servers on one PostgreSQL, one storage and one Ray: one writes to Ray, and the other takes over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import roost
from roost.client import Client, control_calls
from roost.engine.embedded.cluster import EmbeddedCluster
from roost.testing.dashboard_proxy import DashboardProxy
from roost.testing.postgres import PostgresServer
from roost.testing.server_process import ServerProcess, wait_until

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Member:
    """One of the servers, its own way to Ray, and a client of it."""

    server: ServerProcess
    proxy: DashboardProxy
    client: Client

    def deployments(self) -> list[dict[str, Any]]:
        """What it says of all deployments, but for when each was last seen."""
        found = self.client.run(control_calls.list_deployments(live=True)).items
        return [item.model_dump(mode="json", exclude={"observed_at"}) for item in found]


@pytest.fixture
def team(
    make_server: Callable[..., ServerProcess],
    existing_ray: EmbeddedCluster,
    postgres: PostgresServer,
    tmp_path: Path,
) -> Iterator[list[Member]]:
    """Two servers that were started at once, the one that leads first."""
    shared = {
        "ROOST_DATABASE_URL": postgres.new_database(),
        "ROOST_STORAGE_URL": (tmp_path / "storage").as_uri(),
        "ROOST_RAY_TOKEN": existing_ray.token,
        "ROOST_SERVE_URL": existing_ray.serve_url,
    }
    proxies = [DashboardProxy(existing_ray.dashboard_url).__enter__() for _ in range(2)]
    servers = [make_server("team", ROOST_RAY_DASHBOARD_URL=proxy.url, **shared) for proxy in proxies]
    clients = [Client(server.url) for server in servers]
    try:
        for server in servers:
            server.start()
        with ThreadPoolExecutor() as pool:
            list(pool.map(ServerProcess.wait_ready, servers))
        wait_until(lambda: servers[0].info().leader is not None, TIMEOUT_S, "one of them leads")
        members = [Member(*parts) for parts in zip(servers, proxies, clients, strict=True)]
        yield sorted(members, key=lambda member: member.server.info().leader != member.server.info().name)
    finally:
        for client in clients:
            client.close()
        for server in servers:
            server.stop()
        for proxy in proxies:
            proxy.__exit__()


def test_the_other_server_takes_over(
    team: list[Member],
    project: Project,
    node_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leader, other = team
    monkeypatch.setenv("ROOST_CACHE_DIR", str(node_cache))
    monkeypatch.setenv("ROOST_URL", leader.server.url)
    names = [member.server.info().name for member in team]
    assert [member.server.info().leader for member in team] == [names[0], names[0]]
    assert names[0] != names[1]

    roost.register_model(project.load("witness").Witness, "team", "witness")
    first = roost.deploy_model("team", "witness", "imported")
    monkeypatch.setenv("ROOST_URL", other.server.url)
    roost.wait_for_model_serving(first.key, TIMEOUT_S)
    assert roost.model_serving_status(first.key).phase == "running"
    assert leader.deployments() == other.deployments()
    pid = httpx2.get(f"{first.url}/pid").text
    assert (len(leader.proxy.puts), len(other.proxy.puts)) == (1, 0)

    leader.server.kill()
    killed_at_s = time.monotonic()
    second = roost.deploy_model(
        "team", "witness", "imported", config={"a": "b"}, wait=True, timeout=TIMEOUT_S
    )
    (put,) = other.proxy.puts
    takeover_s = put.at_s - killed_at_s
    print(f"PUT by the other server {takeover_s:.1f} s after the leader was killed")
    ours = tuple(name for name in put.names if name.startswith("team__"))  # others' are there, too
    assert ours == (first.key.app_name, second.key.app_name)
    assert len(leader.proxy.puts) == 1
    assert other.server.info().leader == names[1]
    assert httpx2.get(f"{first.url}/pid").text == pid
    assert httpx2.get(f"{second.url}/pid").text != pid
    assert [(event.kind, event.data.get("phase")) for event in roost.list_events(second.key)] == [
        ("deployed", None),
        ("phase", "deploying"),
        ("phase", "running"),
    ]

    leader.server.start_ready()
    assert leader.server.info().name not in names
    assert leader.server.info().leader == names[1]
    assert leader.deployments() == other.deployments()
    assert (len(leader.proxy.puts), len(other.proxy.puts)) == (1, 1)
