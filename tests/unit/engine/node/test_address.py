from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.engine.embedded.state import ClusterState, ProcessId, boot_id, write_state
from roost.engine.node.address import ClusterAddress, find_home_cluster, own_ip, parse_address
from roost.errors import BadRequest, EngineUnavailable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.5:6379", ClusterAddress("10.0.0.5", 6379, "t")),
        (" head.example:20000 ", ClusterAddress("head.example", 20_000, "t")),
        ("localhost:20000", ClusterAddress("127.0.0.1", 20_000, "t")),
    ],
)
def test_an_address_is_read(text: str, expected: ClusterAddress) -> None:
    assert parse_address(text, "t") == expected


@pytest.mark.parametrize(
    "text",
    ["", "10.0.0.5", "10.0.0.5:", ":6379", "10.0.0.5:0", "10.0.0.5:65536", "ray://h:1", "::1:6379", "h:٣"],
)
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadRequest, match="is not valid") as caught:
        parse_address(text)
    assert repr(text) in caught.value.message


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        found = parse_address(text)
    except BadRequest:
        return
    assert found.host
    assert 1 <= found.port <= 65535


def home_with(tmp_path: Path, state: ClusterState) -> Path:
    write_state(tmp_path / "ray" / "cluster.json", state)
    return tmp_path


def cluster(**changes: object) -> ClusterState:
    me = ProcessId(os.getpid(), psutil.Process().create_time())
    values = {
        "cluster_id": "c",
        "token": "secret",
        "boot_id": boot_id(),
        "run_dir": "/tmp/roost-0",
        "port_base": 20_000,
        "phase": "ready",
        "core": (me, me, me),
        "host": "10.0.0.5",
    }
    return ClusterState(**(values | changes))  # type: ignore[arg-type]


def test_the_cluster_of_a_home_is_found_with_its_token(tmp_path: Path) -> None:
    found = find_home_cluster(home_with(tmp_path, cluster()))
    assert found == ClusterAddress("10.0.0.5", 20_000, "secret")
    assert str(found) == "10.0.0.5:20000"


def test_one_that_starts_or_is_started_again_is_waited_for(tmp_path: Path) -> None:
    assert find_home_cluster(home_with(tmp_path, cluster(phase="starting", core=()))) is None
    died = ProcessId(os.getpid(), 1.0)
    assert find_home_cluster(home_with(tmp_path, cluster(core=(died, died, died)))) is None


def test_none_at_all_is_said(tmp_path: Path) -> None:
    for home in (tmp_path, home_with(tmp_path, cluster(boot_id="before the last reboot"))):
        with pytest.raises(EngineUnavailable, match="No embedded cluster runs in") as caught:
            find_home_cluster(home)
        assert "roost up" in (caught.value.hint or "")


def test_a_cluster_on_loopback_is_joined_on_loopback() -> None:
    assert own_ip(ClusterAddress("127.0.0.1", 1)) == "127.0.0.1"
