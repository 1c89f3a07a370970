"""Kills one part at a time under load and measures until what is recorded runs again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

import roost
from roost.engine.embedded.processes import find_processes
from roost.engine.node.address import ClusterAddress
from roost.engine.node.worker import Offer, WorkerNode
from roost.errors import RoostError
from roost.testing.ray_parts import controller_pid, running_replicas
from roost.testing.request_loop import RequestLoop
from roost.testing.server_process import ServerProcess, wait_until
from roost.testing.spotting import spotting

KEY = roost.DeploymentKey("bench", "spotter", roost.IMPORTED)
TIMEOUT_S = 240.0
_BEFORE_S = 2.0
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Route:
    """What callers of one route saw. Times in seconds."""

    asked: int
    failed: int
    gap_s: float

    @staticmethod
    def of(loop: RequestLoop) -> Route:
        """What a loop has heard."""
        failed = len(loop.failures)
        return Route(loop.answers.total() + failed, failed, loop.gap_s)


@dataclass(frozen=True, slots=True)
class Healed:
    """One kill. `phases`: what `status` said until it was healed, in order."""

    part: str
    seconds: float
    own: Route
    gateway: Route
    phases: tuple[str, ...]


class Killer:
    """Kills parts of one server and its cluster.

    Args:
        folder: For the worker node.
    """

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self._server = server
        self._folder = folder

    def run(self) -> Iterator[Healed]:
        """Each part in turn; every kill begins when all has healed from the one before."""
        self._deploy(1)
        yield self._measure("Serve's controller", self._controller)
        yield self._measure("the only replica", self._replica)
        yield self._measure("the ingress (HAProxy)", self._ingress)
        with self._worker() as worker:
            self._deploy(2)
            yield self._measure("one of two replicas", self._replica)
            self._spread(worker)
            yield self._measure("a worker node, with one of two replicas", lambda: self._node(worker))
        self._deploy(1)
        yield self._measure("the server, started again at once", self._restart)
        yield self._measure("the whole Ray", self._ray)

    def _deploy(self, replicas: int) -> None:
        roost.deploy_model(
            KEY.family, KEY.suffix, KEY.run_name, replicas, wait=True, timeout=TIMEOUT_S, name="spotter"
        )
        wait_until(lambda: self._is_healed(set()), TIMEOUT_S, "all is well")

    def _measure(self, part: str, kill: Callable[[], set[int]]) -> Healed:
        deployment = roost.wait_for_model_serving(KEY, TIMEOUT_S)
        phases: list[str] = []
        with spotting(deployment, self._server.url) as calls:
            time.sleep(_BEFORE_S)
            killed_s = time.monotonic()
            gone = kill()
            while not self._is_healed(gone):
                _note(phases)
                if time.monotonic() - killed_s > TIMEOUT_S:
                    raise RuntimeError(f"{part}: not healed within {TIMEOUT_S:g} s; phases {phases}")
                time.sleep(_POLL_S)
            healed_s = time.monotonic() - killed_s
            heard = calls.own.answers.total(), calls.gateway.answers.total()
            wait_until(lambda: calls.own.answers.total() > heard[0], TIMEOUT_S, "an answer of the own URL")
            wait_until(lambda: calls.gateway.answers.total() > heard[1], TIMEOUT_S, "one of the gateway")
        print(f"{part}: {healed_s:.1f} s", flush=True)
        return Healed(part, healed_s, Route.of(calls.own), Route.of(calls.gateway), tuple(phases))

    def _is_healed(self, gone: set[int]) -> bool:
        """Whether records and Ray agree that all runs, without the processes that are gone."""
        try:
            (found,) = [each for each in roost.list_deployed_models() if each.key == KEY]
            details = self._server.ray_details()
        except RoostError:
            return False
        running = running_replicas(details, KEY.app_name)
        there = {controller_pid(details), *running.values()}
        proxies = [proxy["status"] for proxy in details["proxies"].values()]
        return (
            (found.phase, found.stale, found.observed_generation) == ("running", False, found.generation)
            and len(running) == found.num_replicas
            and None not in there
            and not there & gone
            and proxies == ["HEALTHY"]
        )

    def _controller(self) -> set[int]:
        pid = controller_pid(self._server.ray_details())
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return {pid}

    def _replica(self) -> set[int]:
        pid = next(iter(running_replicas(self._server.ray_details(), KEY.app_name).values()))
        os.kill(pid, signal.SIGKILL)
        return {pid}

    def _ingress(self) -> set[int]:
        for process in find_processes(self._server.cluster().cluster_id):
            if process.name() == "haproxy":
                process.kill()
        # Until Ray has noticed, it says that all is well.
        wait_until(lambda: not self._is_healed(set()), TIMEOUT_S, "that Ray notices")
        return set()

    def _restart(self) -> set[int]:
        self._server.kill()
        self._server.start()
        return set()

    def _ray(self) -> set[int]:
        return _kill_all(self._server.cluster().cluster_id)

    def _node(self, worker: WorkerNode) -> set[int]:
        return _kill_all(worker.state.cluster_id)

    @contextmanager
    def _worker(self) -> Iterator[WorkerNode]:
        cluster = self._server.cluster()
        worker = WorkerNode(self._folder / "worker", Offer("worker", num_cpus=2))
        worker.join(ClusterAddress("127.0.0.1", cluster.ports.gcs, cluster.token))
        try:
            yield worker
        finally:
            worker.leave()

    def _spread(self, worker: WorkerNode) -> None:
        nodes = {each.node_id for each in roost.model_replica_placements(KEY)}
        if worker.node_id not in nodes:
            raise RuntimeError(f"no replica runs on the worker node: {nodes}")


def _kill_all(cluster_id: str) -> set[int]:
    processes = find_processes(cluster_id)
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    return {process.pid for process in processes}


def _note(phases: list[str]) -> None:
    try:
        status = roost.model_serving_status(KEY)
    except RoostError:
        phase = "no server"
    else:
        phase = f"{status.phase} (stale)" if status.stale else status.phase
    if not phases or phases[-1] != phase:
        phases.append(phase)
