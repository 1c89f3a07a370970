"""A lack of room that another node would end is told from one that a pause may."""

from __future__ import annotations

from typing import Any

import pytest

from roost.contracts.info import NodeInfo
from roost.serving.shortage import shortage, waits_for_a_node
from roost.testing.gpu_nodes import gpu_node

NEEDS = {"num_cpus": 0.1, "num_gpus": 1, "resources": {"vram_mib": 8192}}
CARD = gpu_node("card", cards=1, card_mib=12_288)
FULL = gpu_node("full", cards=1, card_mib=12_288, shares=(1.0,), vram_mib=8192.0)


@pytest.mark.parametrize(
    ("nodes", "made_on", "told"),
    [
        ([], "", True),
        ([gpu_node("cpu")], "", True),
        ([gpu_node("dead", cards=1, card_mib=12_288, alive=False)], "", True),
        ([FULL], "", False),
        ([FULL, gpu_node("cpu")], "", False),
        ([FULL], "full", False),
        ([CARD], "", False),
    ],
)
def test_when_only_another_node_helps(nodes: list[NodeInfo], made_on: str, told: bool) -> None:
    options: dict[str, Any] = NEEDS
    assert waits_for_a_node(shortage(options, nodes, made_on=made_on)) is told


@pytest.mark.parametrize("message", ["", "A request woke it.", "no GPU", "ValueError: no node"])
def test_other_messages_say_nothing_of_nodes(message: str) -> None:
    assert not waits_for_a_node(message)
