"""At most one `roost node` of a home and name at a time."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from roost.errors import BadRequest, Conflict, InvalidName
from roost.file_lock import FileLock

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


def check_node_name(name: str) -> str:
    """`name`, when it can name a node: up to 63 letters, digits, `.`, `_` and `-`, no sign first.

    Raises:
        InvalidName: naming it.
    """
    if not _NAME.fullmatch(name):
        raise InvalidName(
            f"node name {name!r} is not valid: up to 63 letters, digits, '.', '_' and '-', no sign first.",
            hint="Give another one with --name.",
        )
    return name


class NodeLock:
    """Held by the process of a node for as long as it lives; the kernel frees it when the process dies."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._lock = FileLock(folder / "node.lock")

    def take(self) -> None:
        """Take it.

        Raises:
            Conflict: another process has it.
            BadRequest: the folder cannot be written to.
        """
        try:
            taken = self._lock.take(str(os.getpid()))
        except OSError as error:
            raise BadRequest(
                f"{str(self._folder)!r} cannot be used: {error.strerror or error}.",
                hint="Name a home that you may write to, with --home or ROOST_HOME.",
            ) from error
        if not taken:
            holder = (self._lock.find_content() or b"")[:20].decode(errors="replace").strip() or "?"
            raise Conflict(
                f"A node named {self._name!r} of this home runs already (pid {holder}).",
                hint="Give this one another --name.",
            )

    def release(self) -> None:
        """Give it back."""
        self._lock.release()
