"""Writes a result page: machine, date, commands, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.machine import machine

RESULTS = Path(__file__).resolve().parent / "results"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def write(topic: str, title: str, command: str, parts: Sequence[str]) -> None:
    """Write `results/<topic>.md`, and show it."""
    head = f"# {title}\n\n- machine: {machine()}\n- date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n- command: `{command}`\n"
    text = "\n".join([head, *parts]) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{topic}.md").write_text(text)
    print(text)
