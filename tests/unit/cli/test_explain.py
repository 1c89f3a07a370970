"""`roost explain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import roost
from roost.keys import ModelKey
from roost.testing.gpu_nodes import gpu_node
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
NEEDS = roost.ModelRequirements(num_gpus=0.5, vram_gb=8, ram_gb=4)

EXPLAINED = """\
needed   0.1 CPU, 0.6667 GPU, 4 GiB RAM, 8192 MiB VRAM
share    0.6667 GPU instead of 0.5: 8192 MiB are that share of a card of 12288 MiB, the smallest that holds \
them; so the models on one card never need more memory than it has.
cards    12288 MiB, then 24576 MiB
options  {"num_cpus": 0.1, "num_gpus": 0.6667, "memory": 4294967296, "resources": {"vram_mib": 8192}, \
"label_selector": {"vram_mib": "12288"}, "fallback_strategy": [{"label_selector": {"vram_mib": "24576"}}]}
"""


@pytest.fixture(autouse=True)
def _cluster(server: InProcessServer) -> None:
    save_ready_model(server.db, ModelKey("f", "s", "r"), requirements=NEEDS)
    server.ray.nodes = [
        gpu_node("cpu"),
        gpu_node("24", cards=1, card_mib=24576),
        gpu_node("12", cards=1, card_mib=12288, shares=(0.5,), vram_mib=6144.0),
    ]


def test_by_requirements(cli: Cli) -> None:
    ran = cli("explain", "--gpus", "0.5", "--vram-gb", "8", "--ram-gb", "4")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(EXPLAINED)
    table = [line.split() for line in ran.out.removeprefix(EXPLAINED).splitlines()]
    assert [row[:3] for row in table] == [
        ["NODE", "FITS", "CARD"],
        ["12", "later", "12288"],
        ["24", "now", "24576"],
        ["cpu", "never", "16"],
    ]
    assert "Full: 0.5 GPU free, 6144 MiB of GPU memory free." in ran.out
    assert "It has no label vram_mib." in ran.out


def test_by_key(cli: Cli, server: InProcessServer) -> None:
    assert cli("explain", "f/s/r").out.startswith("of       f/s/r, as it would be deployed now\n" + EXPLAINED)
    cli("deploy", "f/s/r", "--no-wait")
    for name in ("f/s/r", "f/s"):
        assert cli("explain", name).out.startswith("of       f/s/r, as it is deployed\n" + EXPLAINED)
    options = server.ray.puts[-1]["applications"][0]["deployments"][0]["ray_actor_options"]
    assert cli("explain", "f/s/r", "--json").json["actorOptions"] == options


def test_a_cluster_without_nodes(cli: Cli, server: InProcessServer) -> None:
    server.ray.nodes = []
    assert "The cluster has no nodes." in cli("explain", "--gpus", "1").out


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("explain",), 2, "give either a KEY, or what is needed"),
        (("explain", "f/s/r", "--gpus", "1"), 2, "give either a KEY"),
        (("explain", "--gpus", "1", "-c", "a=1"), 2, "give either a KEY"),
        (("explain", "--gpus", "-1"), 2, "--gpus"),
        (("explain", "--gpus", "1.5"), 2, "above 1 it must be a whole number"),
        (("explain", "--vram-gb", "8"), 2, "needs a GPU"),
        (("explain", "f/s/other"), 1, "f/s/other"),
        (("explain", "nobody"), 1, "No deployment is named 'nobody'"),
        (("explain", "f/s/r", "-c", "a=1"), 1, "is not deployed"),
    ],
)
def test_refusals(cli: Cli, arguments: tuple[str, ...], code: int, told: str) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err
