"""A tree of weights to move about: one large file, 20 medium and 2,000 small ones, of random bytes."""

from __future__ import annotations

import os
import random
from pathlib import Path

MIB = 2**20
LARGE, MEDIUM = "model.safetensors", "layers/layer-{:02d}.bin"
MEDIUMS, SMALLS = 20, 2000
_BLOCK = 16 * MIB


def make_tree(root: Path, mib: int) -> int:
    """Fill `root`, half by the large file, 40 % by the medium and 10 % by the small; its bytes."""
    total = mib * MIB
    _write(root / LARGE, total // 2)
    for n in range(MEDIUMS):
        _write(root / MEDIUM.format(n), total * 4 // 10 // MEDIUMS)
    for n in range(SMALLS):
        _write(root / f"shards/{n // 100:02d}/part-{n:04d}.bin", total // 10 // SMALLS)
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def change(root: Path, share: float, regions: int, seed: int) -> int:
    """Overwrite `share` of all bytes in `regions` runs of equal length, as a fine-tune of some tensors
    does: in the large file and, with several regions, in medium ones too. The bytes overwritten."""
    total = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    length = int(total * share) // regions
    random_ = random.Random(seed)
    medium = [root / MEDIUM.format(n) for n in random_.sample(range(MEDIUMS), regions // 4)]
    places = [(path, 0) for path in medium if path.stat().st_size >= length]
    # The rest in even strips of the large file, at a random place within each.
    strips = regions - len(places)
    strip = (root / LARGE).stat().st_size // strips
    places += [(root / LARGE, n * strip + random_.randrange(strip - length)) for n in range(strips)]
    for path, offset in places:
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(os.urandom(length))
    return length * regions


def _write(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for start in range(0, size, _BLOCK):
            file.write(os.urandom(min(_BLOCK, size - start)))
