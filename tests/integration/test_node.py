"""`roost node` with a real Ray: joins, serves, is killed, drains, leaves nothing behind."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from roost.contracts.info import NodeInfo
from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.embedded.host import LOOPBACK, machine_addresses
from roost.engine.embedded.processes import find_processes
from roost.engine.embedded.state import find_state
from roost.engine.hardware import fake_cards
from roost.engine.node.address import ClusterAddress, check_answers
from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable
from roost.hosts import is_loopback

pytestmark = pytest.mark.timeout(600)

APPLICATION = Path(__file__).with_name("placed_actors.py")
START_TIMEOUT_S = 240
PATIENCE_S = 150
COMMAND = [sys.executable, "-m", "roost.cli", "node", "--timeout", str(START_TIMEOUT_S)]
# Where workers find the Serve application.
ENVIRONMENT = {"PYTHONPATH": str(APPLICATION.parent)}


class NodeProcess:
    """`roost node` in a process of its own."""

    def __init__(self, home: Path, name: str, *options: str) -> None:
        self.state_file = home / "nodes" / name / "node.json"
        self.log = home / f"{name}.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ROOST_")}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "--home", home, "--name", name, "--json", *options],
                env={**environment, **ENVIRONMENT, "ROOST_CACHE_DIR": str(home / "cache")},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def joined(self) -> dict[str, Any]:
        """What it prints when it has joined."""
        assert self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            text += line
            if line.rstrip() == "}":
                answer: dict[str, Any] = json.loads(text)
                return answer
        raise AssertionError(self.log.read_text())

    def cluster_id(self) -> str:
        """The mark of all its processes."""
        state = find_state(self.state_file)
        assert state is not None
        return state.cluster_id

    def wait(self) -> int:
        """Its exit code."""
        code = self.process.wait(PATIENCE_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGTERM)
        self.wait()


class Caller:
    """Asks a URL over and over, until it is told to stop."""

    def __init__(self, url: str) -> None:
        self.answers: list[str] = []
        self.failures: list[str] = []
        self._url = url
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Caller:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with httpx2.Client(timeout=60) as client:
            while not self._stop.wait(0.05):
                response = client.get(self._url)
                (self.answers if response.status_code == 200 else self.failures).append(response.text)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """At this machine's outer address, where it has one: such traffic does not leave it."""
    outer = sorted(address for address in machine_addresses() if not is_loopback(address))
    cluster = EmbeddedCluster(
        tmp_path,
        num_cpus=2,
        cards=fake_cards(["4GiB"]),
        host=outer[0] if outer else LOOPBACK,
        token="a-token-of-the-owner",
        timeout_s=START_TIMEOUT_S,
        environment=ENVIRONMENT,
    )
    try:
        cluster.start()
        with warnings.catch_warnings():
            # The start leaves its own connection to the dashboard open.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        yield cluster
    finally:
        cluster.stop(fast=True)


@pytest.fixture
def serve(cluster: EmbeddedCluster) -> Iterator[ServeApi]:
    serve = ServeApi(cluster.dashboard_url, cluster.token, timeout_s=60)
    yield serve
    serve.close()


def put_application(cluster: EmbeddedCluster, serve: ServeApi) -> str:
    """A Serve application that fits on a card of 12 GiB and answers with its node's id; its URL."""
    options = {"num_cpus": 0.1, "num_gpus": 0.7, "resources": {"vram_mib": 8000}}
    deployment = {"name": "App", "graceful_shutdown_timeout_s": 5, "ray_actor_options": options}
    application = {
        "name": "where",
        "route_prefix": "/where",
        "import_path": f"{APPLICATION.stem}:app",
        "deployments": [deployment],
    }
    started = serve.get()
    same = {name: started[name] for name in ("proxy_location", "http_options")}
    serve.put({**same, "applications": [application]})
    url = f"{cluster.serve_url}/where"
    deadline = time.monotonic() + PATIENCE_S
    while httpx2.get(url, timeout=60).status_code != 200:
        assert time.monotonic() < deadline, serve.get()
        time.sleep(0.2)
    return url


def nodes_named(serve: ServeApi, name: str) -> list[NodeInfo]:
    return [node for node in list_nodes(serve.dashboard) if node.name == name and node.alive]


@pytest.mark.ray
def test_a_node_joins_serves_drains_and_leaves_nothing(
    tmp_path: Path, cluster: EmbeddedCluster, serve: ServeApi
) -> None:
    """One cluster serves many checks, since its start costs half a minute."""
    host = cluster.state.host
    first = NodeProcess(tmp_path, "n1", "--fake-gpu", "12GiB", "--num-cpus", "1")
    second: NodeProcess | None = None
    try:
        joined = first.joined()
        assert (joined["address"], joined["nodeIp"]) == (cluster.address, host)
        (node,) = nodes_named(serve, "n1")
        assert node.node_id == joined["nodeId"]
        assert (node.labels["vram_mib"], node.resources["vram_mib"]) == ("12288", 12_288.0)
        (head,) = nodes_named(serve, host)
        assert (head.labels["vram_mib"], head.resources["GPU"]) == ("4096", 1.0)

        # Only this node's card has room.
        url = put_application(cluster, serve)
        assert httpx2.get(url).text == node.node_id
        assert refusal(tmp_path, "n3", "--token", "wrong").startswith("unavailable: The cluster at ")
        assert not nodes_named(serve, "n3")

        # It leaves: the replica moves to another node while callers go on.
        second = NodeProcess(tmp_path, "n2", "--fake-gpu", "12GiB", "--num-cpus", "1")
        other = second.joined()["nodeId"]
        left = first.cluster_id()
        with Caller(url) as caller:
            first.process.send_signal(signal.SIGINT)
            assert first.wait() == 0
        assert caller.failures == []
        assert (caller.answers[0], caller.answers[-1]) == (node.node_id, other)
        assert httpx2.get(url).text == other
        assert find_processes(left) == []
        assert not first.state_file.exists()

        # Killed, it leaves its Ray behind; the next of its name ends that and joins anew.
        serve.put({"applications": []})
        second.process.kill()
        second.wait()
        left = second.cluster_id()
        assert find_processes(left)
        second = NodeProcess(tmp_path, "n2", "--fake-gpu", "12GiB", "--num-cpus", "1")
        assert second.joined()["nodeId"] != other
        assert find_processes(left) == []
        left = second.cluster_id()
        second.process.send_signal(signal.SIGTERM)
        assert second.wait() == 0
        assert find_processes(left) == []
    finally:
        first.end()
        if second is not None:
            second.end()


def refusal(home: Path, name: str, *options: str) -> str:
    """Why a `roost node` does not join."""
    process = NodeProcess(home, name, *options)
    assert process.wait() == 1
    error = json.loads(process.log.read_text().splitlines()[-1])["error"]
    return f"{error['code']}: {error['message'].split(' (')[0]}"


def test_nothing_or_something_else_at_the_address_is_told_apart() -> None:
    with pytest.raises(EngineUnavailable, match=r"Nothing answers at '127\.0\.0\.1:1' "):
        check_answers(ClusterAddress("127.0.0.1", 1))
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().split("port ")[1].split()[0])
        with pytest.raises(EngineUnavailable, match="is not the control store of a Ray cluster"):
            check_answers(ClusterAddress("127.0.0.1", port))
    finally:
        server.terminate()
        server.communicate()
