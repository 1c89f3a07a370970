"""At most one `roost node` of a home and name at a time."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from typing import Final

from roost.errors import BadRequest, Conflict, InvalidName

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
        self._path = folder / "node.lock"
        self._name = name
        self._descriptor: int | None = None

    def take(self) -> None:
        """Take it.

        Raises:
            Conflict: another process has it.
            BadRequest: the folder cannot be written to.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BadRequest(
                f"{str(self._path.parent)!r} cannot be used: {error.strerror or error}.",
                hint="Name a home that you may write to, with --home or ROOST_HOME.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "?"
            os.close(descriptor)
            raise Conflict(
                f"A node named {self._name!r} of this home runs already (pid {holder}).",
                hint="Give this one another --name.",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Give it back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
