"""One holder at a time, of a file that may be removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.file_lock import FileLock


def test_one_holder_who_says_who_it_is(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "deep" / "lock"), FileLock(tmp_path / "deep" / "lock")
    assert second.is_free()
    assert second.find_content() is None
    assert first.take("the first, with a long name")
    assert (first.is_free(), second.is_free(), second.take("2")) == (False, False, False)
    assert second.find_content() == b"the first, with a long name"
    first.release()
    first.release()
    assert second.take("2")
    assert first.find_content() == b"2"
    second.release()
    assert first.is_free()


def test_a_file_that_is_removed_with_the_lock(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.take("1")
    first.release(remove=True)
    assert list(tmp_path.iterdir()) == []
    assert second.take("2")
    assert not first.take("1")
    second.release()


def test_who_opened_a_file_that_its_holder_then_removed_holds_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.take("1")
    opened = FileLock._open

    def late(lock: FileLock) -> int:
        descriptor = opened(lock)
        monkeypatch.undo()
        first.release(remove=True)
        return descriptor

    monkeypatch.setattr(FileLock, "_open", late)
    assert second.take("2")
    assert (tmp_path / "lock").read_bytes() == b"2"
    assert not first.take("1")
    second.release()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="File exists"):
        FileLock(tmp_path / "file" / "lock").take("")
