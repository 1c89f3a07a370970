"""Runs all tests, in two lanes side by side: whole servers in one, everything else in the other.

What is given is passed on to pytest. The output of the second lane follows that of the first.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Final

NOTHING_SELECTED: Final = 5

SERVERS: Final = {"e2e": ("tests/e2e",)}
# The starts of Ray are timed by Ray itself, so they come while the other lane mostly waits.
OTHERS: Final = {"ray and not e2e": ("tests/contract", "tests/integration"), "not ray and not e2e": ()}
"""By marks, where they are: pytest takes its time to collect all."""


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 when all passed."""
    with tempfile.TemporaryFile() as log:
        beside = subprocess.Popen(
            [sys.executable, __file__, "--lane", *arguments], stdout=log, stderr=subprocess.STDOUT
        )
        try:
            code = _pytest(SERVERS, arguments)
        finally:
            other = beside.wait()  # Ctrl-C has reached it, too
        _show(log)
    return _worst([code, other])


def _pytest(lane: Mapping[str, Sequence[str]], arguments: Sequence[str]) -> int:
    return _worst(
        [
            subprocess.run(
                [sys.executable, "-m", "pytest", *(arguments or folders), "-m", marks], check=False
            ).returncode
            for marks, folders in lane.items()
        ]
    )


def _worst(codes: Sequence[int]) -> int:
    return max((code for code in codes if code != NOTHING_SELECTED), default=NOTHING_SELECTED, key=abs)


def _show(log: IO[bytes]) -> None:
    sys.stdout.flush()
    log.seek(0)
    shutil.copyfileobj(log, sys.stdout.buffer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--lane"]:
        sys.exit(_pytest(OTHERS, sys.argv[2:]))
    sys.exit(main(sys.argv[1:]))
