"""A Python process that is led line by line: it says where it is, and waits to be told to go on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence


class LedProcess:
    """Runs `python *arguments` until it ends by itself or is ended."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def says(self) -> str:
        """Its next line; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self, order: str = "") -> None:
        """Let it take the next step."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()

    def suspend(self) -> None:
        """Stop it where it is, as a laptop's lid does."""
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on as if nothing had happened."""
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill it as `kill -9` does; one that has ended stays as it is."""
        self.process.kill()
        self.process.wait(timeout=60)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()
