"""Runs all tests, in two processes side by side: those on Ray mostly wait, the others mostly compute.

What is given is passed on to pytest. The output of the tests without Ray follows that of the others.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

NOTHING_SELECTED = 5


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 when all passed."""
    command = [sys.executable, "-m", "pytest", *arguments, "-m"]
    with tempfile.TemporaryFile() as log:
        # The starts of Ray are timed by Ray itself, so they come first where both want a core.
        beside = subprocess.Popen(
            ["nice", "-n", "5", *command, "not ray"], stdout=log, stderr=subprocess.STDOUT
        )
        try:
            ray = subprocess.run([*command, "ray"], check=False).returncode
            other = beside.wait()
        finally:
            beside.terminate()
            beside.wait()
        sys.stdout.flush()
        log.seek(0)
        shutil.copyfileobj(log, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    codes = [code for code in (ray, other) if code != NOTHING_SELECTED]
    return max(codes, default=NOTHING_SELECTED, key=abs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
