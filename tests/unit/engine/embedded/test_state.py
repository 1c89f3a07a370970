from __future__ import annotations

from pathlib import Path

import pytest

from roost.engine.embedded.state import ClusterState, ProcessId, boot_id, find_state, write_state

STATE = ClusterState(
    cluster_id="c1",
    token="secret",
    boot_id="b1",
    run_dir="/tmp/roost-1",
    port_base=20_000,
    phase="starting",
    made_with={"ray": "2.60.0"},
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "ray" / "cluster.json"
    write_state(path, STATE)
    assert find_state(path) == STATE
    ready = STATE.ready((ProcessId(1, 2.5), ProcessId(3, 4.5)))
    write_state(path, ready)
    assert find_state(path) == ready
    assert ready.phase == "ready"
    assert ready.ports.dashboard == 20_001


def test_only_the_owner_may_read_the_token(tmp_path: Path) -> None:
    write_state(tmp_path / "cluster.json", STATE)
    assert (tmp_path / "cluster.json").stat().st_mode & 0o777 == 0o600


def test_a_writer_killed_in_the_middle_leaves_the_old_state(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    write_state(path, STATE)
    (tmp_path / "cluster.json.new").write_text('{"cluster_id": "c')
    assert find_state(path) == STATE
    write_state(path, STATE)
    assert [entry.name for entry in tmp_path.iterdir()] == ["cluster.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"core": 1}', '{"core": [{"pid": 1}]}', '{"core": []}']
)
def test_what_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(text)
    assert find_state(path) is None


def test_nothing_is_none(tmp_path: Path) -> None:
    assert find_state(tmp_path / "cluster.json") is None


def test_the_kernel_names_its_run() -> None:
    assert boot_id() == boot_id()
    assert len(boot_id()) == 36
