"""The hardware one replica needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from roost.errors import InvalidRequirements


@dataclass(frozen=True, slots=True)
class ModelRequirements:
    """The hardware one replica needs; 0 means none.

    Attributes:
        num_gpus: GPUs; a fraction below 1 shares a card, above 1 it is a whole number.
        ram_gb: Main memory in GiB.
        vram_gb: GPU memory in GiB, spread evenly over the cards when `num_gpus` is 2 or more.

    Raises:
        InvalidRequirements: for negatives, NaN, infinities, a fraction above 1, VRAM without a GPU.
    """

    num_gpus: float = 0
    ram_gb: float = 0
    vram_gb: float = 0

    def __post_init__(self) -> None:
        for name in ("num_gpus", "ram_gb", "vram_gb"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InvalidRequirements(f"{name}={value!r} is not valid: it must be a number.")
            if not math.isfinite(value) or value < 0:
                raise InvalidRequirements(
                    f"{name}={value!r} is not valid: it must be 0 or a positive number."
                )
        if self.num_gpus > 1 and self.num_gpus != int(self.num_gpus):
            raise InvalidRequirements(
                f"num_gpus={self.num_gpus!r} is not valid: above 1 it must be a whole number.",
                hint=f"Use {math.ceil(self.num_gpus)}, or a fraction below 1 to share one card.",
            )
        if self.vram_gb > 0 and self.num_gpus == 0:
            raise InvalidRequirements(
                f"vram_gb={self.vram_gb!r} needs a GPU, but num_gpus is 0.",
                hint="Set num_gpus=1 or a fraction.",
            )

    def __str__(self) -> str:
        return f"{self.num_gpus:g} GPU, {self.vram_gb:g} GiB VRAM, {self.ram_gb:g} GiB RAM"


def check_requirements(value: object) -> ModelRequirements:
    """`value`, when it is a `ModelRequirements`.

    Raises:
        InvalidRequirements: for anything else, a mapping too.
    """
    if isinstance(value, ModelRequirements):
        return value
    raise InvalidRequirements(
        f"requirements={value!r:.80} is not valid: it must be a ModelRequirements.",
        hint="Write roost.ModelRequirements(num_gpus=..., ram_gb=..., vram_gb=...).",
    )
