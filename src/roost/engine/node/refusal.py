"""Why a node could not join, read from what `ray start` says while it tries."""

from __future__ import annotations

import re
from typing import Final

from roost.engine.ansi import strip_ansi
from roost.errors import EngineStartFailed, EngineUnavailable, RoostError

_VERSIONS: Final = re.compile(r"Ray:\s*(\S+)\s+Python:\s*(\S+)")


def find_refusal(said: str, address: str) -> RoostError | None:
    """The reason in the output of a joining `ray start`; None when it gives none that is known.

    `ray start` itself goes on trying for half a minute with a wrong token.
    """
    text = strip_ansi(said)
    if "InvalidAuthToken" in text or "AuthenticationError" in text:
        return EngineUnavailable(
            f"The cluster at {address!r} refuses our token.",
            hint="Give its token with --token or ROOST_RAY_TOKEN; `roost up` keeps it in ray/cluster.json "
            "of its home.",
        )
    if "was started with:" in text:
        return _other_versions(text, address)
    if "may not have started successfully" in text:
        return EngineUnavailable(
            f"The cluster at {address!r} has no head node yet.", hint="It may be starting; try again."
        )
    return None


def _other_versions(text: str, address: str) -> EngineStartFailed:
    found = _VERSIONS.findall(text[text.index("was started with:") :])
    if len(found) < 2:
        return EngineStartFailed(f"The cluster at {address!r} runs other versions of Ray or Python.")
    (ray, python), (own_ray, own_python) = found[:2]
    return EngineStartFailed(
        f"The cluster at {address!r} runs Ray {ray} on Python {python}, this machine Ray {own_ray} on "
        f"Python {own_python}: all nodes of a cluster must have the same.",
        hint=f"Install Python {python} and ray[serve]=={ray} here.",
    )
