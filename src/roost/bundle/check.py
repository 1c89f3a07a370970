"""Proves at save time that a bundle is enough: its class is imported in a clean interpreter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from roost.bundle.installed import installed_path
from roost.bundle.pack import Bundle
from roost.bundle.trace import CHECK_VARIABLE
from roost.bundle.unpack import unpack
from roost.contracts.servable import ServableRef
from roost.errors import InvalidServable

_PROBE: Final = Path(__file__).absolute().with_name("probe.py")
_SHOWN_OUTPUT_BYTES: Final = 2000


def check(bundle: Bundle, *, timeout_s: float = 120.0) -> ServableRef:
    """Import the class of `bundle` from its archive alone and say what it is.

    The interpreter sees the bundle, the standard library, the installed distributions and Roost;
    not this process's working directory, its `PYTHONPATH`, nor editable installs. Nothing is left
    behind, also after Ctrl-C.

    Args:
        timeout_s: Seconds the import may take.

    Raises:
        InvalidServable: the import failed, naming the missing module or file, or took too long; or
            the class is no servable.
    """
    with tempfile.TemporaryDirectory(prefix="roost-check-", ignore_cleanup_errors=True) as folder:
        answer = _answer(bundle, Path(os.path.realpath(folder)), timeout_s)
    error = answer.get("error")
    if error is not None:
        raise _failure(bundle.class_path, error)
    return ServableRef(
        class_path=bundle.class_path,
        kind=answer["kind"],
        capability=answer["capability"],
        bundle_fingerprint=bundle.fingerprint,
        pins=bundle.pins,
    )


def _answer(bundle: Bundle, folder: Path, timeout_s: float) -> dict[str, Any]:
    unpack(bundle.data, bundle.fingerprint, folder / "bundle")
    working_directory = folder / "elsewhere"
    working_directory.mkdir()
    answer = folder / "answer.json"
    order = {
        "bundle": str(folder / "bundle"),
        "path": installed_path(),
        "prefix": sys.prefix,
        "roost": str(_PROBE.parents[1]),
        "class_path": bundle.class_path,
        "timeout_s": timeout_s,
        "answer": str(answer),
    }
    # No site module (-S): its .pth files would show editable installs, which workers lack.
    command = [sys.executable, "-I", "-S", "-B", str(_PROBE), json.dumps(order)]
    with (folder / "output.txt").open("w+b") as output:
        code = _run(command, working_directory, output.fileno(), timeout_s)
        if answer.exists():
            read: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
            return read
        output.seek(0)
        said = output.read()[-_SHOWN_OUTPUT_BYTES:].decode(errors="replace").strip()
    raise _silence(bundle.class_path, code, said, timeout_s)


def _run(command: list[str], working_directory: Path, output: int, timeout_s: float) -> int | None:
    """The exit code; None when time ran out."""
    process = subprocess.Popen(
        command,
        cwd=working_directory,
        env={**os.environ, CHECK_VARIABLE: "1"},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        # A group of its own: Ctrl-C reaches this process alone, which then ends the whole group.
        start_new_session=True,
    )
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _silence(class_path: str, code: int | None, said: str, timeout_s: float) -> InvalidServable:
    if code is None or code == -signal.SIGALRM:
        return InvalidServable(
            f"{class_path!r} took over {timeout_s:g} s to import from its bundle.",
            hint="Do slow work in the class, not while its module is imported.",
        )
    tail = f" Its last words: {said}" if said else ""
    return InvalidServable(
        f"{class_path!r} ended the interpreter (exit code {code}) while its bundle was imported.{tail}"
    )


def _failure(class_path: str, error: dict[str, Any]) -> InvalidServable:
    if error["is_ours"]:
        return InvalidServable(error["message"], hint=error["hint"])
    where = f" ({error['where']})" if error["where"] else ""
    cause = f"{error['type']}: {error['message']}{where}"
    missing, file = error["missing"], error["file"]
    hint = None
    if missing:
        hint = f"If {missing!r} is imported dynamically, add include=({missing!r},); else install it."
    elif file:
        hint = f"Add the data file by its path below the servable's root: include=({file!r},)."
    return InvalidServable(f"{class_path!r} cannot be imported from its bundle alone: {cause}.", hint=hint)
