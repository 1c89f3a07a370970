"""Runs all tests, in two lanes side by side: whole servers, which mostly wait, and all others.

What is given is passed on to pytest. What the first lane says is shown as it comes, the rest at the end.
"""

from __future__ import annotations

import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

NOTHING_SELECTED: Final = 5
LANES: Final = 2
WITHOUT_RAY: Final = "not ray and not e2e"
UNIT: Final = Path("tests/unit")


@dataclass(frozen=True)
class Job:
    """One run of pytest: the tests with these marks below these folders."""

    marks: str
    folders: Sequence[str]
    shown: bool = False
    log: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def run(self, arguments: Sequence[str]) -> int:
        """Its exit code."""
        command = [sys.executable, "-m", "pytest", *(arguments or self.folders), "-m", self.marks]
        log = None if self.shown else self.log
        return subprocess.run(command, check=False, stdout=log, stderr=log).returncode


def jobs(is_part: bool) -> list[Job]:
    """The longest first; each lane takes the next one when it is free.

    Starts of Ray are timed by Ray itself, so they come while the other lane mostly waits.
    """
    servers = Job("e2e", ["tests/e2e"], shown=True)
    ray = Job("ray and not e2e", ["tests/contract", "tests/integration"])
    if is_part:
        return [servers, ray, Job(WITHOUT_RAY, [])]
    units = sorted(str(path) for path in UNIT.iterdir() if path.is_dir() or path.match("test_*.py"))
    return [
        servers,
        ray,
        Job(WITHOUT_RAY, ["tests/architecture", "tests/contract", "tests/integration"]),
        Job(WITHOUT_RAY, units[::2]),
        Job(WITHOUT_RAY, [*units[1::2], "packs"]),
    ]


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 when all passed."""
    work = jobs(is_part=bool(arguments))
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in work:
        waiting.put(job)

    def run_lane(_lane: int) -> list[int]:
        codes: list[int] = []
        with suppress(queue.Empty):
            while True:
                codes.append(waiting.get_nowait().run(arguments))
        return codes

    with ThreadPoolExecutor(LANES) as pool, _emptied_when_stopped(waiting):
        codes = [code for lane in pool.map(run_lane, range(LANES)) for code in lane]
    for job in work:
        job.log.seek(0)
        shutil.copyfileobj(job.log, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    return max((code for code in codes if code != NOTHING_SELECTED), default=NOTHING_SELECTED, key=abs)


@contextmanager
def _emptied_when_stopped(waiting: queue.SimpleQueue[Job]) -> Iterator[None]:
    """After Ctrl-C, which has reached the running ones, too, no further job begins."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        raise


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
