"""`roost gc`: frees what is stored and nothing refers to."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Final

import typer

from roost.cli.output import JsonFlag, note, print_json, print_table, say
from roost.cli.sizes import bytes_text
from roost.contracts.garbage import GarbageAction, GarbageReport
from roost.sdk.garbage import collect_garbage

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DONE: Final[dict[GarbageAction, str]] = {
    "moved": "moved to the trash",
    "freed": "deleted",
    "restored": "brought back",
    "kept": "kept",
}
_WOULD: Final[dict[GarbageAction, str]] = {**_DONE, "moved": "to the trash", "freed": "to delete"}


def read_duration(text: str) -> timedelta:
    """`24h`, `30m`, `0s`, `1.5d` as a duration.

    Raises:
        typer.BadParameter: for anything else.
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd])", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a duration: write a number and s, m, h or d, such as 24h.")
    return timedelta(seconds=float(match[1]) * _UNITS[match[2]])


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    grace: Annotated[
        timedelta | None,
        typer.Option(
            parser=read_duration,
            metavar="DURATION",
            help="Leave alone what is younger, such as 24h; default is ROOST_GC_GRACE_S of the server. "
            "0s frees all at once, except what an upload under way may need.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Free what is stored and no model or deployment refers to: first to the trash, later for good."""
    report = collect_garbage(dry_run=dry_run, grace=grace)
    if as_json:
        print_json(report)
        return
    words = _WOULD if report.dry_run else _DONE
    print_table(
        ("WHAT", "ACTION", "OBJECTS", "SIZE", "WHY"),
        (
            (line.kind, words[line.action], line.count, bytes_text(line.size_bytes), line.reason)
            for line in report.lines
        ),
        empty="Nothing is stored.",
    )
    for text in report.notes:
        note(text)
    say(_summary(report))


def _summary(report: GarbageReport) -> str:
    moved, moved_bytes = report.total("moved")
    freed, freed_bytes = report.total("freed")
    would = "would be " if report.dry_run else ""
    return (
        f"{moved} objects ({bytes_text(moved_bytes)}) {would}moved to the trash, "
        f"{freed} ({bytes_text(freed_bytes)}) {would}deleted. Grace: {_duration(report.grace_s)}."
    )


def _duration(seconds: float) -> str:
    """As `--grace` takes it."""
    for unit in ("h", "m"):
        if seconds and seconds % _UNITS[unit] == 0:
            return f"{seconds / _UNITS[unit]:g}{unit}"
    return f"{seconds:g}s"
