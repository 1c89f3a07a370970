"""The one place that writes results: a table for people, JSON for programs. Progress goes to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

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
    """A table; `empty` is said when there are no rows. In a pipe lines are not cut to a width."""
    console = _stdout()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    if table.row_count:
        console.print(table)
    else:
        console.print(Text(empty))


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
