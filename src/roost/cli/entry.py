"""What the `roost` script calls: Ctrl-C while the command is still being imported ends it quietly, too."""

from __future__ import annotations

import os
from importlib import import_module


def run() -> None:
    """Import the command and run it."""
    try:
        command = import_module("roost.cli.main").run
    except KeyboardInterrupt:
        os._exit(130)
    command()
