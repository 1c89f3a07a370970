"""One line of `roost doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One check and its result."""

    check: str
    result: Literal["ok", "warning", "failed"]
    detail: str
    next_step: str = ""
