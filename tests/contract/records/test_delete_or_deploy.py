"""Deleting a model and deploying it at once: one of them wins, and nothing of a deleted model is deployed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from roost.contracts.deployment import DeployRequest
from roost.contracts.info import NodeInfo
from roost.errors import ModelInUse, ModelNotFound
from roost.keys import ModelKey
from roost.records.database import Database
from roost.services.changes import Changes
from roost.services.deployments import Deployments
from roost.services.engine_view import EngineView
from roost.services.models import Models
from roost.serving.settings import ServeSettings
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.ready_models import save_ready_model

NODE = NodeInfo(node_id="n1", name="one", ip="10.0.0.1", alive=True, resources={"CPU": 2.0})
ROUNDS = 20
DEPLOYERS = 3


class Server:
    """The services of one server, with connections of its own."""

    def __init__(self, url: str) -> None:
        self.db = Database(url, busy_timeout_s=60)
        self.models = Models(self.db, MemoryStore(), FakeClock())
        self.deployments = Deployments(
            self.db,
            self.models,
            EngineView(lambda: [NODE], lambda _app, _tail: ""),
            ServeSettings(serve_url="http://serve:8000", storage_url="file:///s"),
            Changes(),
            FakeClock(),
            wake=lambda: None,
        )


def test_one_of_them_wins(records: Database) -> None:
    servers = [Server(records.url) for _ in range(DEPLOYERS + 1)]
    keys = [ModelKey("f", f"s{number}", "r") for number in range(ROUNDS)]
    together = threading.Barrier(len(servers), timeout=120)

    def deploy(server: Server, turn: int) -> str:
        return tried(lambda: server.deployments.deploy(keys[turn], DeployRequest()))

    def delete(server: Server, turn: int) -> str:
        for _ in range(turn % 5):  # so that either may come first
            server.models.list()
        return tried(lambda: server.models.delete(keys[turn]))

    def run(server: Server, act: Callable[[Server, int], str]) -> list[str]:
        ended = []
        try:
            for turn in range(ROUNDS):
                together.wait()
                ended.append(act(server, turn))
        except BaseException:
            together.abort()  # the others need not wait for this one
            raise
        return ended

    for key in keys:
        save_ready_model(records, key)
    acts = [delete] + [deploy] * DEPLOYERS
    with ThreadPoolExecutor(len(servers)) as pool:
        deleted, *deployed = pool.map(run, servers, acts)
    for server in servers:
        server.db.close()

    seen = Server(records.url)
    wanted = {item.key.model for item in seen.deployments.list().items}
    for turn, key in enumerate(keys):
        deploys = {each[turn] for each in deployed}
        if key in wanted:
            assert (deleted[turn], deploys) == ("in use", {"done"})
            assert seen.models.get(key).phase == "ready"
        else:
            assert (deleted[turn], deploys) == ("done", {"not found"})
            assert seen.models.find(key) is None
    seen.db.close()


def tried(act: Callable[[], object]) -> str:
    try:
        act()
    except ModelNotFound:
        return "not found"
    except ModelInUse:
        return "in use"
    return "done"
