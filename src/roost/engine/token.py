"""Where the token of a Ray cluster is found, in the order of Ray's own tools."""

from __future__ import annotations

import os
from pathlib import Path

from roost.errors import EngineUnavailable


def find_token(explicit: str | None = None) -> str | None:
    """`explicit`, else RAY_AUTH_TOKEN, the file RAY_AUTH_TOKEN_PATH, the file `~/.ray/auth_token`, else None.

    Raises:
        EngineUnavailable: when RAY_AUTH_TOKEN_PATH names a file that cannot be read or is empty.
    """
    for value in (explicit, os.environ.get("RAY_AUTH_TOKEN")):
        if value and value.strip():
            return value.strip()
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    if named:
        return _read_named(Path(named).expanduser())
    try:
        return (Path.home() / ".ray" / "auth_token").read_text().strip() or None
    except (OSError, RuntimeError, UnicodeDecodeError):
        return None


def _read_named(path: Path) -> str:
    hint = "Correct RAY_AUTH_TOKEN_PATH, or set ROOST_RAY_TOKEN."
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EngineUnavailable(
            f"The Ray token file {str(path)!r} cannot be read: {error}.", hint=hint
        ) from error
    if not token:
        raise EngineUnavailable(f"The Ray token file {str(path)!r} is empty.", hint=hint)
    return token
