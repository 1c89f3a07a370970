"""The place where fetched weights lie until they are stored."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from roost.errors import Unavailable
from roost.sdk.sources.room import SPARE_BYTES, room_for


@pytest.fixture(autouse=True)
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A disk for the cache and one for temporary files."""
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path


def places(disks: Path) -> list[Path]:
    return [path for name in ("cache/imports", "tmp/roost-imports") for path in disks.glob(f"{name}/*/")]


def give_room(disks: Path, monkeypatch: pytest.MonkeyPatch, **free: int) -> None:
    def usage(path: Path) -> shutil._ntuple_diskusage:
        (name,) = [name for name in free if Path(path).is_relative_to(disks / name)]
        return shutil._ntuple_diskusage(10**15, 0, free[name])

    monkeypatch.setattr(shutil, "disk_usage", usage)


def test_it_is_beside_the_cache_and_goes_at_the_end(disks: Path) -> None:
    with room_for(5, "x") as directory:
        (directory / "deep").mkdir()
        (directory / "deep" / "file").write_bytes(b"x")
        assert directory.parent in places(disks)
        assert directory.is_relative_to(disks / "cache" / "imports")
    assert places(disks) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_it_goes_when_it_ends_badly(disks: Path, error: type[BaseException]) -> None:
    def use(directory: Path) -> None:
        (directory / "file").write_bytes(b"x")
        raise error

    with pytest.raises(error), room_for(5, "x") as directory:
        use(directory)
    assert places(disks) == []


def test_two_at_once_leave_each_other_alone(disks: Path) -> None:
    with room_for(5, "x") as first:
        (first / "file").write_bytes(b"1")
        with room_for(5, "x") as second:
            assert first != second
            assert (first / "file").read_bytes() == b"1"
        assert (first / "file").exists()


def test_what_a_killed_process_left_goes(disks: Path) -> None:
    left = disks / "cache" / "imports" / "killed" / "weights"
    left.mkdir(parents=True)
    (left / "file").write_bytes(b"x")
    (left.parent / "lock").touch()
    with room_for(5, "x"):
        assert not left.parent.exists()


def test_a_full_disk_is_left_for_the_next(disks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_room(disks, monkeypatch, cache=SPARE_BYTES + 4, tmp=SPARE_BYTES + 5)
    with room_for(5, "x") as directory:
        assert directory.is_relative_to(disks / "tmp")


def test_no_room_anywhere_is_said_with_figures(disks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_room(disks, monkeypatch, cache=3 * 1024**3, tmp=0)
    with pytest.raises(Unavailable) as caught, room_for(10 * 1024**3, "'hf://a/b@main'"):
        pass
    assert "'hf://a/b@main' needs 10.00 GiB and 0.25 GiB to spare: 3.00 GiB free at" in caught.value.message
    assert "0.00 GiB free at" in caught.value.message
    assert caught.value.hint == "Free some, or set ROOST_CACHE_DIR to a folder on a larger disk."


def test_a_cache_that_cannot_be_made_is_passed_over(disks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (disks / "file").touch()
    monkeypatch.setenv("ROOST_CACHE_DIR", str(disks / "file"))
    with room_for(5, "x") as directory:
        assert directory.is_relative_to(disks / "tmp")
