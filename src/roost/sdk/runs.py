"""The active run of this process, under whose name models are saved."""

from __future__ import annotations

import secrets
import threading
from datetime import UTC, datetime

DEFAULT_EXPERIMENT = "default"

_lock = threading.Lock()
_active: str | None = None


def active_run_name() -> str:
    """Name of the active run; with none active, a run of the experiment `default` is started."""
    global _active  # noqa: PLW0603  # one run a process is the contract
    with _lock:
        if _active is None:
            now = datetime.now(UTC)
            _active = f"{DEFAULT_EXPERIMENT}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
        return _active
