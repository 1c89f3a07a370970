"""`roost events`."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from roost.cli.arguments import ConfigOption, find_key, read_config
from roost.cli.output import JsonFlag, note, print_json, print_json_line, print_table, say
from roost.client import Client, control_calls
from roost.contracts.event import Event
from roost.errors import Unavailable
from roost.keys import DeploymentKey
from roost.sdk.connection import current_client

_LONG_POLL_S: Final = 20.0
_RETRY_S: Final = 1.0
_PAGE: Final = 1000


def events(
    key: Annotated[
        str | None,
        typer.Argument(metavar="[KEY]", help="Only of one deployment: its name, or family/suffix/run_name."),
    ] = None,
    config: ConfigOption = None,
    limit: Annotated[int, typer.Option(min=1, max=_PAGE, help="How many of the last.")] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new ones until Ctrl-C.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show what happened to the deployments, oldest first."""
    wanted = find_key(key, read_config(config)) if key is not None else None
    found = current_client().run(control_calls.list_events(wanted, limit=limit)).items
    if follow:
        _follow(wanted, found, as_json)
    elif as_json:
        print_json(found)
    else:
        print_table(
            ("TIME (UTC)", "KIND", "DEPLOYMENT", "MESSAGE"),
            (_cells(event) for event in found),
            empty="Nothing has happened yet.",
        )


def _follow(wanted: DeploymentKey | None, found: list[Event], as_json: bool) -> None:
    """Print `found`, then what comes, as it comes; Ctrl-C is how it ends."""
    client = current_client()
    last = 0
    try:
        while True:
            for event in found:
                _print_line(event, as_json)
                last = event.id
            found = _next(client, wanted, last)
    except KeyboardInterrupt:
        return


def _next(client: Client, wanted: DeploymentKey | None, last: int) -> list[Event]:
    """What came after `last`; a server that goes away is waited for."""
    call = control_calls.list_events(wanted, limit=_PAGE, after_id=last, wait_s=_LONG_POLL_S)
    told = False
    while True:
        try:
            return client.run(call).items
        except Unavailable as error:
            if not told:
                note(f"{error.message} Waiting for it; Ctrl-C ends.")
            told = True
            time.sleep(_RETRY_S)


def _print_line(event: Event, as_json: bool) -> None:
    if as_json:
        print_json_line(event)
    else:
        time, kind, subject, message = _cells(event)
        say(f"{time}  {kind:<12}  {subject}  {message}")


def _cells(event: Event) -> tuple[str, str, str, str]:
    # Of a traceback the last line names the error; `--json` has all of it.
    lines = event.message.strip().splitlines()
    message = lines[-1].strip() if lines else _phases(event)
    times = event.data.get("times")
    if times:
        message += f" ({times} times until {event.data.get('until', '')[:19].replace('T', ' ')})"
    return f"{event.at:%Y-%m-%d %H:%M:%S}", event.kind, event.subject, message.strip()


def _phases(event: Event) -> str:
    before, phase = event.data.get("before"), event.data.get("phase")
    return f"It was {before} and is {phase}." if before and phase else ""
