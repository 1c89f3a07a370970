"""Bundles: the code of a servable, traced, packed under a fingerprint and proven to import alone.

Owns the import graph, the archive format and the save-time check; must not know the registry.
"""

from __future__ import annotations

from roost.bundle.check import check
from roost.bundle.describe import describe
from roost.bundle.pack import Bundle, pack
from roost.bundle.trace import Traced, trace
from roost.bundle.unpack import unpack

__all__ = ["Bundle", "Traced", "check", "describe", "pack", "trace", "unpack"]
