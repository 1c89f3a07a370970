"""What to do where no server answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from roost.client.environment import DEFAULT_URL, server_url
from roost.errors import ServerUnreachable
from roost.file_lock import FileLock
from roost.hosts import is_loopback


def next_step(error: ServerUnreachable) -> str:
    """The next step, by what is left of a server in the home of this machine."""
    home = Path(os.environ.get("ROOST_HOME") or "~/.roost").expanduser()
    url = server_url()
    if not is_loopback(urlsplit(url).hostname):
        return f"Start it on that machine, or set ROOST_URL to where one runs (it is {url})."
    lock = FileLock(home / "server.lock")
    if not lock.is_free():
        return _of_a_living_server(_holder(lock), url, home)
    command = _up(url)
    if (home / "ray" / "cluster.json").exists():
        return (
            f"Start it again with `{command}`, which takes over what it left of Ray; `roost down` ends that."
        )
    if command == "roost up" and error.hint:
        return error.hint
    return f"Start one with `{command}`."


def _of_a_living_server(holder: dict[str, Any], url: str, home: Path) -> str:
    listens = str(holder.get("url", url))
    if listens.rstrip("/") != url.rstrip("/"):
        return f"The server of {home} listens elsewhere: export ROOST_URL={listens}"
    return (
        f"The server of {home} (pid {holder.get('pid', '?')}) does not answer: it may be starting; "
        "`roost down` ends it."
    )


def _holder(lock: FileLock) -> dict[str, Any]:
    try:
        found = json.loads(lock.find_content() or b"")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _up(url: str) -> str:
    """The command of a server that would listen at `url`."""
    port = urlsplit(url).port
    by_default = (None, urlsplit(DEFAULT_URL).port)
    is_given = os.environ.get("ROOST_PORT", "").strip() == str(port)
    return "roost up" if port in by_default or is_given else f"roost up --port {port}"
