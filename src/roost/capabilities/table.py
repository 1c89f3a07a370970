"""The capabilities Roost serves: one file and one row each. Routes, time-outs and types come from here."""

from __future__ import annotations

from typing import Final

from roost.capabilities.capability import Capability
from roost.capabilities.detection import DETECTION
from roost.capabilities.embedding import EMBEDDING
from roost.capabilities.ner import NER
from roost.capabilities.segmentation import SEGMENTATION
from roost.capabilities.tracking import TRACKING
from roost.capabilities.vlm import VLM
from roost.errors import NotFound

__all__ = ["CAPABILITIES", "Capability", "get_capability"]

_ROWS: Final = (SEGMENTATION, DETECTION, TRACKING, VLM, NER, EMBEDDING)

CAPABILITIES: Final[dict[str, Capability]] = {row.name: row for row in _ROWS}


def get_capability(name: str) -> Capability:
    """The row of a capability.

    Raises:
        NotFound: for an unknown name, listing the known ones.
    """
    row = CAPABILITIES.get(name)
    if row is None:
        raise NotFound(
            f"There is no capability {name[:64]!r}.",
            hint=f"Known capabilities: {', '.join(sorted(CAPABILITIES))}.",
        )
    return row
