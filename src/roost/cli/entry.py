"""What the `roost` script calls: Ctrl-C while the command is still being imported ends it quietly, too."""

from __future__ import annotations

import os


def run() -> None:
    """Import the command and run it."""
    try:
        from roost.cli.main import run as command  # noqa: PLC0415  # this import is what may be interrupted
    except KeyboardInterrupt:
        os._exit(130)
    command()
