"""Which distributions every worker has, so that no bundle pins them."""

from __future__ import annotations

import os
from functools import cache
from importlib import metadata
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROVIDES_VARIABLE: Final = "ROOST_WORKER_PROVIDES"
"""Environment variable: more distributions the workers have, separated by commas."""

_ALWAYS: Final = frozenset({"roost", "ray", "torch", "torchvision", "torchaudio", "triton", "pytorch-triton"})
_GPU_PREFIX: Final = "nvidia-"


def worker_has(name: str) -> bool:
    """Whether every worker has the distribution, in whatever version.

    True for what `roost[server]` depends on, for torch and its libraries, and for the names in
    `ROOST_WORKER_PROVIDES`.
    """
    canonical = canonicalize_name(name)
    declared = os.environ.get(PROVIDES_VARIABLE, "").split(",")
    return (
        canonical in _ALWAYS
        or canonical.startswith(_GPU_PREFIX)
        or canonical in _server_closure()
        or canonical in {canonicalize_name(entry.strip()) for entry in declared if entry.strip()}
    )


@cache
def _server_closure() -> frozenset[str]:
    """What `roost[server]` pulls in, as far as it is installed here."""
    closure: set[str] = set()
    done: set[tuple[str, frozenset[str]]] = set()
    waiting: list[tuple[str, frozenset[str]]] = [("roost", frozenset({"server"}))]
    while waiting:
        name, extras = entry = waiting.pop()
        if entry in done:
            continue
        done.add(entry)
        closure.add(name)
        waiting += _dependencies(name, extras)
    return frozenset(closure)


def _dependencies(name: str, extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    found: list[tuple[str, frozenset[str]]] = []
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            found.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return found
