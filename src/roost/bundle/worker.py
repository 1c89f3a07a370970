"""Which distributions every worker has, so that no bundle pins them."""

from __future__ import annotations

import os
from typing import Final

from packaging.utils import canonicalize_name

from roost.bundle.provided import PROVIDED

PROVIDES_VARIABLE: Final = "ROOST_WORKER_PROVIDES"
"""Environment variable: more distributions the workers have, separated by commas."""

_ALWAYS: Final = frozenset({"roost", "ray", "torch", "torchvision", "torchaudio", "triton", "pytorch-triton"})
_GPU_PREFIX: Final = "nvidia-"


def worker_has(name: str) -> bool:
    """Whether every worker has the distribution, in whatever version.

    True for what `roost[server]` installs, for torch and its libraries, and for the names in
    `ROOST_WORKER_PROVIDES`. What is installed here has no say, so that the same code has the same
    pins wherever it is saved.
    """
    canonical = canonicalize_name(name)
    declared = os.environ.get(PROVIDES_VARIABLE, "").split(",")
    return (
        canonical in _ALWAYS
        or canonical.startswith(_GPU_PREFIX)
        or canonical in PROVIDED
        or canonical in {canonicalize_name(entry.strip()) for entry in declared if entry.strip()}
    )
