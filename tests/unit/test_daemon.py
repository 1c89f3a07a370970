"""The lock of a home and what it says of its holder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from roost.daemon import HomeLock, end_server
from roost.errors import Conflict

URL = "http://127.0.0.1:7463"


def test_one_server_a_home(tmp_path: Path) -> None:
    first, second = HomeLock(tmp_path / "home"), HomeLock(tmp_path / "home")
    assert second.is_free()
    first.take(URL)
    assert not second.is_free()
    with pytest.raises(Conflict, match=f"pid {os.getpid()} at {URL}") as caught:
        second.take("http://127.0.0.1:1")
    assert caught.value.hint is not None
    assert "`roost down --home " in caught.value.hint
    assert second.holder() == json.loads((tmp_path / "home" / "server.lock").read_bytes())
    first.release()
    first.release()
    second.take(URL)
    second.release()
    assert first.is_free()


def test_a_lock_without_a_readable_holder_is_still_a_lock(tmp_path: Path) -> None:
    holder, other = HomeLock(tmp_path), HomeLock(tmp_path)
    holder.take(URL)
    for content in (b"", b"[1]", b"\xff"):
        (tmp_path / "server.lock").write_bytes(content)
        assert other.holder() is None
        with pytest.raises(Conflict, match=r"pid \? at \?"):
            other.take(URL)
    holder.release()


def test_the_file_is_the_owners_alone_and_holds_only_the_last_holder(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    (tmp_path / "server.lock").write_text("x" * 5000)
    (tmp_path / "server.lock").unlink()
    lock.take("http://127.0.0.1:" + "1" * 200)
    lock.release()
    lock.take(URL)
    assert lock.holder() == {**(lock.holder() or {}), "pid": os.getpid(), "url": URL}
    assert (tmp_path / "server.lock").stat().st_mode & 0o777 == 0o600
    lock.release()


def test_ending_where_nothing_runs(tmp_path: Path) -> None:
    assert end_server({"home": tmp_path}, 1.0) == f"No server runs in {tmp_path}."
    lock = HomeLock(tmp_path)
    lock.take(URL)
    lock.release()
    assert end_server({"home": tmp_path}, 1.0) == f"No server runs in {tmp_path}."


def test_a_process_that_only_has_the_pid_of_the_holder_is_spared(tmp_path: Path) -> None:
    """This test's own process would be ended otherwise."""
    lock = HomeLock(tmp_path)
    lock.take(URL)
    state = {**(lock.holder() or {}), "started_at": 1.0}
    (tmp_path / "server.lock").write_text(json.dumps(state))
    with pytest.raises(Conflict, match="its process is not on this machine"):
        end_server({"home": tmp_path}, 1.0)
    lock.release()
