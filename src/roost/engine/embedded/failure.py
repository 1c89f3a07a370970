"""Why a start failed: the right log, its first error and last lines, and a copy that outlives the cluster."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from roost.engine.ansi import strip_ansi
from roost.errors import EngineStartFailed

_LINES: Final = 8
_READ_BYTES: Final = 64 * 1024
# Ray's own lines say how grave they are: `[2026-11-30 18:40:01,123 E 812 812] (raylet) main.cc:95: ...`.
_TELLS: Final = re.compile(
    r"^\[[^\]]* [ECF] \d+ \d+\]|^\w*(Error|Exception): |Check failed|Timed out waiting"
)
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
            error = find_first_error(kept / name)
            first = f"Its first error: {error}\n" if error and error not in lines else ""
            return EngineStartFailed(
                f"{what} {first}The end of {str(kept / name)!r}:\n{shown}\n",
                hint=f"All logs of this start are in {str(kept)!r}.",
            )
    return EngineStartFailed(what, hint=f"It left no log lines in {str(kept)!r}.")


def find_first_error(path: Path) -> str | None:
    """The first line that tells an error: what follows it, often a stack of calls, only tells where."""
    return next((line for line in _read_lines(path, from_end=False) if _TELLS.search(line)), None)


def last_lines(path: Path, count: int = _LINES) -> list[str]:
    """The last non-blank lines, without terminal escapes; empty when there is no such file."""
    return _read_lines(path, from_end=True)[-count:]


def _read_lines(path: Path, *, from_end: bool) -> list[str]:
    """The non-blank lines of the first or last `_READ_BYTES`."""
    try:
        with path.open("rb") as file:
            if from_end:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - _READ_BYTES))
            text = file.read(_READ_BYTES).decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip()[:400] for line in strip_ansi(text).splitlines() if line.strip()]
