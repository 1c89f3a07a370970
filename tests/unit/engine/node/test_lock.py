from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.engine.node.lock import NodeLock, check_node_name
from roost.errors import BadRequest, Conflict, InvalidName


@pytest.mark.parametrize("name", ["gpu-1", "a", "A.b_c-9", "x" * 63])
def test_names_of_nodes(name: str) -> None:
    assert check_node_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-a", "a b", "x" * 64, "ä", "a\n"])
def test_what_could_leave_the_folder_or_confuse_ray_is_no_name(name: str) -> None:
    with pytest.raises(InvalidName) as caught:
        check_node_name(name)
    assert repr(name) in caught.value.message


def test_one_at_a_time(tmp_path: Path) -> None:
    first, second = NodeLock(tmp_path / "n", "n"), NodeLock(tmp_path / "n", "n")
    first.take()
    with pytest.raises(Conflict, match=rf"'n' of this home runs already \(pid {os.getpid()}\)"):
        second.take()
    first.release()
    second.take()
    second.release()
    second.release()


def test_a_home_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadRequest, match="cannot be used"):
        NodeLock(tmp_path / "file" / "n", "n").take()
