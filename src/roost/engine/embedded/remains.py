"""The files of a running cluster or node, and the ending of what is left of it."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Final

from roost.engine.embedded.processes import end_processes
from roost.engine.embedded.state import ClusterState, boot_id, find_state

_RUN_DIR_PREFIX: Final = "roost-"


def new_run_dir() -> Path:
    """A folder's path that is not taken; Ray's sockets in it must stay below 108 characters."""
    base = Path(tempfile.gettempdir())
    if len(str(base)) > 12:
        base = Path("/tmp")  # noqa: S108 - the folder is made for the owner only, and must not exist
    return base / f"{_RUN_DIR_PREFIX}{secrets.token_hex(4)}"


def make_run_dir(state: ClusterState) -> None:
    """Make the folder of `state`, for the owner only, with one for HAProxy in it."""
    run_dir = Path(state.run_dir)
    run_dir.mkdir(mode=0o700)
    (run_dir / "h").mkdir()


def end_remains(state_file: Path, known: ClusterState | None = None, *, grace_s: float) -> bool:
    """End what `state_file` tells of, whoever started it, and remove its files; whether anything was alive.

    Args:
        known: Used where the file is gone.
    """
    state = find_state(state_file) or known
    if state is None:
        return False
    found = 0
    if state.boot_id == boot_id():
        found = end_processes(state.cluster_id, Path(state.run_dir), grace_s=grace_s)
    if Path(state.run_dir).name.startswith(_RUN_DIR_PREFIX):
        shutil.rmtree(state.run_dir, ignore_errors=True)
    state_file.unlink(missing_ok=True)
    return found > 0
