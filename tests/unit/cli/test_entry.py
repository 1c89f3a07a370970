"""Ctrl-C before the command is there."""

from __future__ import annotations

import subprocess
import sys

INTERRUPTED = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from roost.cli.entry import run
run()
"""


def test_ctrl_c_while_it_is_imported_is_quiet() -> None:
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"")
