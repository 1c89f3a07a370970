"""Nodes with cards in `roost status` and `roost doctor`, and what `roost node` refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roost.cli.doctor import _engine
from roost.cli.status import print_server
from roost.contracts.info import EngineInfo, NodeInfo, ServerInfo, StorageInfo
from roost.testing.gpu_nodes import gpu_node

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
HEAD = gpu_node("head", cpus=2)
SMALL = gpu_node("small", cards=1, card_mib=12_288)
LARGE = gpu_node("large", cards=2, card_mib=24_576)
UNMEASURED = gpu_node("unmeasured", cards=1, card_mib=24_576, label="24GiB")


def info(*nodes: NodeInfo, serve_url: str = "http://127.0.0.1:20002", exposed: int = 0) -> ServerInfo:
    engine = EngineInfo(
        state="ready",
        embedded=True,
        dashboard_url="http://127.0.0.1:20001",
        serve_url=serve_url,
        nodes=list(nodes),
        exposed=[f"raylet on 10.0.0.5:{20_010 + index}" for index in range(exposed)],
    )
    return ServerInfo(
        version="0",
        url="u",
        home="h",
        database="d",
        storage=StorageInfo(url="s", storage_id="i"),
        engine=engine,
    )


def test_status_lists_nodes_where_there_is_more_to_say_than_their_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_server(info(HEAD))
    assert "ONE CARD" not in capsys.readouterr().out
    print_server(info(HEAD, SMALL, LARGE, UNMEASURED, gpu_node("dead", cards=1, card_mib=1, alive=False)))
    told = capsys.readouterr().out
    table = [line.split() for line in told[told.index("NODE") :].splitlines()]
    assert table == [
        ["NODE", "ADDRESS", "CPU", "GPU", "ONE", "CARD"],
        ["head", "10.0.0.1", "2", "0", "-"],
        ["small", "10.0.0.1", "16", "1", "12288", "MiB"],
        ["large", "10.0.0.1", "16", "2", "24576", "MiB"],
        ["unmeasured", "10.0.0.1", "16", "1", "-"],
    ]


def test_doctor_checks_that_cards_say_how_large_they_are() -> None:
    found = {each.check: (each.result, each.detail) for each in _engine(info(HEAD, LARGE, UNMEASURED))}
    assert found["node large"] == ("ok", "2 GPU, 24576 MiB each")
    assert found["node unmeasured"] == (
        "warning",
        "its GPUs have no valid label vram_mib, so models with vram_gb do not run there",
    )
    assert "node head" not in found


def test_doctor_knows_ports_that_other_machines_need() -> None:
    asked = list(_engine(info(serve_url="http://10.0.0.5:20002", exposed=3)))
    assert [(each.check, each.detail) for each in asked[1:]] == [
        ("exposed ports", "3, as --cluster-host needs")
    ]
    by_accident = list(_engine(info(exposed=2)))
    assert [each.check for each in by_accident[1:]] == ["exposed port", "exposed port"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("ROOST_", "RAY_"))]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--fake-gpu", "12"), 1, "'12' is not a size of a card"),
        (("--fake-gpu", "12GiB", "--fake-gpu", "-1GiB"), 1, "'-1GiB' is not a size of a card"),
        (("--address", "nowhere"), 1, "address 'nowhere' is not valid"),
        (("--node-ip", "0.0.0.0"), 1, "--node-ip '0.0.0.0' is no address of a node"),
        (("--name", "../x"), 2, "node name '../x' is not valid"),
        (("--name", ""), 2, "node name '' is not valid"),
        (("--fake-gpu", "12GiB"), 1, "No embedded cluster runs in "),
    ],
)
def test_what_a_node_refuses_it_names_and_starts_nothing(
    cli: Cli, home: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    ran = cli("node", "--home", str(home), "--name", "n1", *options)
    assert ran.code == code
    assert message in ran.err
    assert not list(home.glob("nodes/*/node.json"))
