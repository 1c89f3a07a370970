"""Sizes for people."""

from __future__ import annotations


def bytes_text(size: int) -> str:
    """`512 B`, `1.5 KiB`, `2.0 GiB`, ..."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
