"""Ray is asked only while it may be."""

from __future__ import annotations

from typing import Any

import pytest

from roost.engine.serve_api import ServeApi
from roost.errors import EngineUnavailable
from roost.reconcile.gate import GatedEngine


class Api(ServeApi):
    """Keeps what it was asked instead of asking Ray."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9", None)
        self.asked: list[Any] = []

    def get(self) -> dict[str, Any]:
        self.asked.append("get")
        return {"applications": {}}

    def put(self, body: dict[str, Any]) -> None:
        self.asked.append(body)


def test_it_passes_calls_on_while_there_is_no_trouble() -> None:
    api = Api()
    gate = GatedEngine(api, lambda: "")
    assert gate.dashboard_url == "http://127.0.0.1:9"
    assert gate.get() == {"applications": {}}
    gate.put({"applications": []})
    assert api.asked == ["get", {"applications": []}]
    gate.close()


def test_it_says_the_trouble_and_asks_nothing() -> None:
    api = Api()
    trouble = ["Ray is starting."]
    gate = GatedEngine(api, lambda: trouble[0])
    for call in (gate.get, lambda: gate.put({}), gate.list_nodes, lambda: gate.replica_log("app", 10)):
        with pytest.raises(EngineUnavailable, match=r"Ray cannot be asked: Ray is starting\.") as caught:
            call()
        assert caught.value.hint == "`roost status` shows when it is ready."
    assert api.asked == []
    trouble[0] = ""
    assert gate.get() == {"applications": {}}
    gate.close()
