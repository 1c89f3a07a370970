from __future__ import annotations

from pathlib import Path

import pytest

from roost.engine.embedded.failure import find_first_error, keep_logs, last_lines, start_failed


def test_the_log_of_what_died_is_shown_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "start.log").write_text("Local node IP\n")
    (tmp_path / "raylet.err").write_text("\x1b[31mfine\x1b[0m\n\nno memory left\n")
    error = start_failed("raylet of Ray died while it was starting.", tmp_path, ["raylet"])
    assert error.message == (
        "raylet of Ray died while it was starting. "
        f"The end of '{tmp_path}/raylet.err':\n  fine\n  no memory left\n"
    )
    assert error.hint == f"All logs of this start are in '{tmp_path}'."


def test_without_a_dead_part_the_output_of_ray_start_is_shown(tmp_path: Path) -> None:
    (tmp_path / "start.log").write_text("ValueError: port 1 is taken\n")
    (tmp_path / "raylet.err").write_text("unrelated\n")
    error = start_failed("`ray start` ended with exit code 1.", tmp_path, [])
    assert "ValueError: port 1 is taken" in error.message
    assert "unrelated" not in error.message


def test_no_log_at_all_is_said(tmp_path: Path) -> None:
    assert "left no log lines" in str(start_failed("It failed.", tmp_path, ["raylet"]))


def test_only_the_last_lines_of_a_large_log_are_read(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_text("".join(f"line {number}\n" for number in range(100_000)))
    assert last_lines(path, 2) == ["line 99998", "line 99999"]


def test_kept_logs_replace_those_of_an_earlier_failure(tmp_path: Path) -> None:
    logs, kept = tmp_path / "logs", tmp_path / "kept"
    logs.mkdir()
    (logs / "raylet.err").write_text("new")
    (logs / "old").mkdir()
    kept.mkdir()
    (kept / "stale.log").write_text("old")
    keep_logs(tmp_path / "absent.log", logs, kept)
    assert [path.name for path in kept.iterdir()] == ["raylet.err"]


TIMED_OUT = (
    "[2026-11-30 18:40:01,123 C 812 812] (raylet) port_persistence.cc:70: "
    "Timed out waiting for file /tmp/r/session/dashboard_agent_listen_port_1"
)


def test_the_first_error_is_shown_before_the_stack_that_ends_the_log(tmp_path: Path) -> None:
    stack = "".join(f"raylet(+0x{number}) [0x55]\n" for number in range(30))
    info = "[2026-11-30 18:40:00,001 I 812 812] (raylet) main.cc:1: An error is not this one: E 1 1\n"
    (tmp_path / "raylet.err").write_text(f"{info}{TIMED_OUT}\n*** StackTrace Information ***\n{stack}")
    error = start_failed("raylet of Ray died while it was starting.", tmp_path, ["raylet"])
    assert error.message.startswith(
        f"raylet of Ray died while it was starting. Its first error: {TIMED_OUT}\n"
        f"The end of '{tmp_path}/raylet.err':\n  raylet(+0x22) [0x55]\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        TIMED_OUT,
        "[2026-11-30 18:40:01,123 E 812 899] (gcs_server) redis.cc:1: refused",
        "ValueError: port 1 is taken",
        "ray.exceptions.RaySystemError: System error: Check failed: x",
    ],
)
def test_lines_that_tell_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / "log").write_text(f"Error handling is on\n\n{line}\nRuntimeError: later\n")
    assert find_first_error(tmp_path / "log") == line


def test_a_log_without_an_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("fine\nno Error: here\n")
    assert find_first_error(tmp_path / "log") is None
    assert find_first_error(tmp_path / "absent") is None
