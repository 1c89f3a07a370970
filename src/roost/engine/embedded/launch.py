"""Starts `ray start` apart from the caller."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


def launch(command: Sequence[str], environment: dict[str, str], run_dir: Path) -> subprocess.Popen[bytes]:
    """Run it in a session of its own; what it says goes to `start.log` of `run_dir`."""
    # In a folder of its own: a `types.py` in the caller's would break Ray's processes.
    with (run_dir / "start.log").open("wb") as log:
        return subprocess.Popen(
            command,
            env=environment,
            cwd=run_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
