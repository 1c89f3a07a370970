"""Where Ray puts replicas with the options of `roost.serving.placement`: nodes of 12, 24 and 2 x 24 GiB.

Bare actors with the same options stand for most replicas, since it is Ray's scheduler that places both.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.embedded.processes import find_processes
from roost.engine.hardware import fake_cards
from roost.engine.node.address import ClusterAddress
from roost.engine.node.worker import Offer, WorkerNode
from roost.engine.nodes import list_nodes
from roost.engine.serve_api import ServeApi
from roost.hosts import is_loopback
from roost.serving.placement import actor_options

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

DRIVER = Path(__file__).with_name("placed_actors.py")
CARDS = {"a12": ["12GiB"], "b24": ["24GiB"], "c48": ["24GiB", "24GiB"]}
START_TIMEOUT_S = 240

EIGHT = ModelRequirements(num_gpus=0.1, vram_gb=8000 / 1024)
FIVE = ModelRequirements(num_gpus=0.1, vram_gb=5000 / 1024)
WHOLE_TEN = ModelRequirements(num_gpus=1, vram_gb=10)
TWENTY = ModelRequirements(num_gpus=0.1, vram_gb=20)
TWO_CARDS = ModelRequirements(num_gpus=2, vram_gb=40)


@dataclass
class Driver:
    """Makes actors in the cluster."""

    process: subprocess.Popen[str]
    names: Mapping[str, str]

    def make(self, **options: dict[str, Any]) -> None:
        self._order(make=options)

    def where(self, *names: str) -> dict[str, tuple[str, list[int]]]:
        """Node and cards of each, once it runs."""
        found = self._order(where=names)
        return {name: (self.names[place["node"]], place["cards"]) for name, place in found.items()}

    def end(self, *names: str) -> None:
        self._order(end=names)

    def _order(self, **order: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@dataclass(frozen=True)
class Placing:
    """The cluster with its nodes."""

    cluster: EmbeddedCluster
    serve: ServeApi
    workers: list[WorkerNode]
    nodes: list[NodeInfo]
    driver: Driver

    def options(self, requirements: ModelRequirements) -> dict[str, Any]:
        return actor_options(requirements, 0.1, self.nodes)


def wait_until(reached: Callable[[], bool], describe: Callable[[], object], timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while not reached():
        assert time.monotonic() < deadline, describe()
        time.sleep(0.1)


@pytest.fixture(scope="module")
def placing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Placing]:
    home = tmp_path_factory.mktemp("roost")
    # Where workers find the Serve application.
    environment = {"PYTHONPATH": str(DRIVER.parent)}
    cluster = EmbeddedCluster(home, num_cpus=2, timeout_s=START_TIMEOUT_S, environment=environment)
    workers = [
        WorkerNode(
            home / "nodes" / name,
            Offer(name=name, num_cpus=1, cards=fake_cards(sizes)),
            environment=environment,
            timeout_s=START_TIMEOUT_S,
        )
        for name, sizes in CARDS.items()
    ]
    try:
        cluster.start()
        with warnings.catch_warnings():
            # The start leaves its own connection to the dashboard open.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        address = ClusterAddress("127.0.0.1", cluster.ports.gcs, cluster.token)
        # Ray gives its own agents 15 s to start, which three at once on two cores may not meet.
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda worker: worker.join(address), workers))
        serve = ServeApi(cluster.dashboard_url, cluster.token, timeout_s=60)
        nodes = list_nodes(serve.dashboard)
        with open_driver(cluster) as process:
            names = {node.node_id: node.name for node in nodes}
            yield Placing(cluster, serve, workers, nodes, Driver(process, names))
            process.stdin.close() if process.stdin else None
            process.wait(30)
        serve.close()
    finally:
        for worker in workers:
            worker.leave()
        cluster.stop(fast=True)


def open_driver(cluster: EmbeddedCluster) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": cluster.token,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    return subprocess.Popen(
        [sys.executable, DRIVER, cluster.address],
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def nodes_of(places: dict[str, tuple[str, list[int]]]) -> list[str]:
    """Sizes of the cards they are on, in GiB, smallest first."""
    return sorted({"a12": "12", "b24": "24", "c48": "24"}[node] for node, _ in places.values())


def test_the_nodes_say_what_cards_they_have(placing: Placing) -> None:
    found = {
        node.name: (node.labels.get("vram_mib"), node.resources.get("vram_mib"), node.resources.get("GPU"))
        for node in placing.nodes
    }
    assert found == {
        "127.0.0.1": (None, None, None),
        "a12": ("12288", 12_288.0, 1.0),
        "b24": ("24576", 24_576.0, 1.0),
        "c48": ("24576", 49_152.0, 2.0),
    }


def test_nothing_of_a_node_on_loopback_is_open_to_other_machines(placing: Placing) -> None:
    assert [opened for worker in placing.workers for opened in open_beyond_loopback(worker)] == []


def open_beyond_loopback(worker: WorkerNode) -> list[str]:
    found = []
    for process in find_processes(worker.state.cluster_id):
        try:
            connections = process.net_connections("tcp")
        except psutil.Error:
            continue
        found += [
            f"{process.name()} {each.laddr.ip}:{each.laddr.port}"
            for each in connections
            if each.status == psutil.CONN_LISTEN and not is_loopback(each.laddr.ip)
        ]
    return found


def test_the_smallest_card_first_and_never_two_on_one_that_holds_one(placing: Placing) -> None:
    options = placing.options(EIGHT)
    assert options == {
        "num_cpus": 0.1,
        "num_gpus": 0.6511,
        "resources": {"vram_mib": 8000},
        "label_selector": {"vram_mib": "12288"},
        "fallback_strategy": [{"label_selector": {"vram_mib": "24576"}}],
    }
    placing.driver.make(one=options, two=options, three=options)
    places = placing.driver.where("one", "two", "three")
    assert nodes_of(places) == ["12", "24", "24"]
    assert len({(node, *cards) for node, cards in places.values()}) == 3
    placing.driver.end(*places)


def test_fractions_fill_a_card_before_a_larger_one_is_taken(placing: Placing) -> None:
    options = placing.options(FIVE)
    placing.driver.make(one=options, two=options, three=options)
    places = placing.driver.where("one", "two", "three")
    assert sorted(places.values())[:2] == [("a12", [0]), ("a12", [0])]
    assert nodes_of(places) == ["12", "12", "24"]
    placing.driver.end(*places)


def test_whole_cards(placing: Placing) -> None:
    options = placing.options(WHOLE_TEN)
    placing.driver.make(one=options, two=options)
    assert nodes_of(placing.driver.where("one", "two")) == ["12", "24"]
    placing.driver.end("one", "two")


def test_two_cards_are_of_one_node_and_what_waits_takes_the_card_that_is_freed(placing: Placing) -> None:
    """Each step leaves one place only, so where an actor lands tells that it waited for it."""
    driver, twenty = placing.driver, placing.options(TWENTY)
    driver.make(both=placing.options(TWO_CARDS))
    assert driver.where("both") == {"both": ("c48", [0, 1])}
    driver.make(large=twenty)
    assert driver.where("large") == {"large": ("b24", [0])}

    # No card of 24 GiB is free, and the free one of 12 GiB does not hold it.
    driver.make(waits=twenty)
    driver.make(small=placing.options(EIGHT))
    assert driver.where("small") == {"small": ("a12", [0])}
    assert waiting(placing) == ["waits"]
    driver.end("large")
    assert driver.where("waits") == {"waits": ("b24", [0])}
    driver.end("both", "waits", "small")


def waiting(placing: Placing) -> list[str]:
    query = {"detail": "true", "limit": "1000", "filter_keys": "state", "filter_predicates": "="}
    answer = placing.serve.dashboard.get_json("/api/v0/actors", query | {"filter_values": "PENDING_CREATION"})
    return [row["name"] for row in answer["data"]["result"]["result"]]


def test_a_replica_on_a_joined_node_answers_through_the_ingress(placing: Placing) -> None:
    application = {
        "name": "where",
        "route_prefix": "/where",
        "import_path": f"{DRIVER.stem}:app",
        "deployments": [{"name": "App", "ray_actor_options": placing.options(EIGHT)}],
    }
    port = placing.cluster.ports.serve
    body = {"proxy_location": "HeadOnly", "http_options": {"host": "127.0.0.1", "port": port}}
    placing.serve.put({**body, "applications": [application]})
    url = f"{placing.cluster.serve_url}/where"
    wait_until(lambda: get(url).status_code == 200, placing.serve.get)
    assert placing.driver.names[get(url).text] == "a12"


def get(url: str) -> httpx2.Response:
    """Ray holds it while the application is on its way up."""
    return httpx2.get(url, timeout=60)
