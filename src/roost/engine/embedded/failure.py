"""Why a start failed: the right log, its last useful lines, and a copy that outlives the cluster."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from roost.engine.ansi import strip_ansi
from roost.errors import EngineStartFailed

_LINES: Final = 8
_TAIL_BYTES: Final = 64 * 1024
_LOGS_OF: Final = {
    "gcs_server": ("gcs_server.err", "gcs_server.out"),
    "raylet": ("raylet.err", "raylet.out"),
    "dashboard.py": ("dashboard.err", "dashboard.log", "dashboard_ServeHead.log"),
}


def keep_logs(start_log: Path, log_dir: Path, kept: Path) -> None:
    """Copy the logs to `kept`, in place of those of an earlier failure."""
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for path in (start_log, *(sorted(log_dir.glob("*")) if log_dir.is_dir() else ())):
        if path.is_file():
            shutil.copyfile(path, kept / path.name)


def start_failed(what: str, kept: Path, dead: Sequence[str]) -> EngineStartFailed:
    """The error to raise: `what` happened, and what the logs of the `dead` programs say of it."""
    candidates = [name for program in dead for name in _LOGS_OF.get(program, ())]
    fallback = ["start.log", "raylet.err", "gcs_server.err", "dashboard.err", "dashboard_ServeHead.log"]
    for name in (*candidates, *fallback):
        lines = last_lines(kept / name)
        if lines:
            shown = "\n".join(f"  {line}" for line in lines)
            return EngineStartFailed(
                f"{what} The end of {str(kept / name)!r}:\n{shown}\n",
                hint=f"All logs of this start are in {str(kept)!r}.",
            )
    return EngineStartFailed(what, hint=f"It left no log lines in {str(kept)!r}.")


def last_lines(path: Path, count: int = _LINES) -> list[str]:
    """The last non-blank lines, without terminal escapes; empty when there is no such file."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip()[:400] for line in strip_ansi(text).splitlines() if line.strip()][-count:]
