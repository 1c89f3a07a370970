"""The one place that writes results: a table for people, JSON for programs. Progress goes to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roost.contracts.error import ErrorBody
from roost.errors import RoostError

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def print_json(value: BaseModel | Iterable[BaseModel] | dict[str, Any]) -> None:
    """Wire models, or a plain mapping, as indented JSON."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_json_line(value: BaseModel) -> None:
    """A wire model as one line of JSON, written at once."""
    sys.stdout.write(json.dumps(_plain(value), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A table; `empty` is said when there are no rows.

    Words, such as keys and phases, are never broken, also where a terminal is too narrow; sentences are.
    A terminal is spared the columns that hold nothing. In a pipe they stay, and lines are of any width.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    if not cells:
        say(empty)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    is_terminal = sys.stdout.isatty()
    kept = [at for at in range(len(columns)) if not is_terminal or any(row[at].plain for row in cells)]
    width = 0
    for at in kept:
        longest = max(len(columns[at]), *(row[at].cell_len for row in cells))
        is_sentence = any(" " in row[at].plain for row in cells)
        width += (min(longest, _SENTENCE_WIDTH) if is_sentence else longest) + _GAP
        table.add_column(columns[at], overflow="fold", no_wrap=not is_sentence)
    for row in cells:
        table.add_row(*(row[at] for at in kept))
    if is_terminal:
        Console(width=max(Console().width, width)).print(table)
        return
    console = _stdout()
    with console.capture() as captured:
        console.print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def print_fields(fields: dict[str, object]) -> None:
    """One thing, a line each of its fields."""
    width = max(len(name) for name in fields)
    for name, value in fields.items():
        _stdout().print(Text(f"{name:<{width}}  ", style="bold") + _cell(value), soft_wrap=True)


def say(text: str) -> None:
    """One line on stdout."""
    _stdout().print(Text(text), soft_wrap=True)


def note(text: str) -> None:
    """One line on stderr, beside the result."""
    Console(stderr=True).print(Text(text), soft_wrap=True)


def print_error(error: RoostError, *, as_json: bool) -> None:
    """An error on stderr: what is wrong, then the next step."""
    if as_json:
        sys.stderr.write(ErrorBody.of(error, error.request_id or "").to_json().decode() + "\n")
        return
    console = Console(stderr=True)
    console.print(Text("error: ", style="bold red") + Text(error.message), soft_wrap=True)
    if error.hint:
        console.print(Text("  hint: ", style="bold") + Text(error.hint), soft_wrap=True)


_GAP: Final = 2
_SENTENCE_WIDTH: Final = 16
"""What a column of sentences may shrink to."""

PHASE_STYLES = {
    "running": "green",
    "ready": "green",
    "failed": "red",
    "upload_failed": "red",
    "broken": "red",
    "unhealthy": "yellow",
    "deploying": "cyan",
    "uploading": "cyan",
}


def _cell(value: object) -> Text:
    text = "" if value is None else str(value)
    return Text(text, style=PHASE_STYLES.get(text, ""))


def _stdout() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=10_000)


def _plain(value: BaseModel | Iterable[BaseModel] | dict[str, Any]) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        return value
    return [item.model_dump(mode="json", by_alias=True) for item in value]
