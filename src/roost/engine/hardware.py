"""The machine's cards: measured, invented for trials, and as they are advertised to Ray."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from roost.engine.nvml import Card, Measured, read_cards
from roost.errors import BadRequest

VRAM: Final = "vram_mib"
"""Node label with the MiB of one card, and custom resource with the MiB of all of the node's cards."""

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?(GiB|GB|MiB|MB)", re.ASCII | re.IGNORECASE)
_UNIT_BYTES: Final = {"gib": 1024**3, "gb": 1000**3, "mib": 1024**2, "mb": 1000**2}
_MIB_MAX: Final = 999_999_999


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards that Ray may give out on this machine.

    Attributes:
        mib: Memory of one card; of the smallest, where they differ. 0 without cards.
        notes: What is worth knowing of the measurement.
    """

    count: int = 0
    mib: int = 0
    names: tuple[str, ...] = ()
    fake: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.count:
            return "no cards"
        kinds = ", ".join(sorted(set(self.names)))
        return f"{self.count} x {kinds}, {self.mib} MiB each"


@dataclass(frozen=True, slots=True)
class Advertised:
    """What a node tells Ray of its cards.

    Attributes:
        num_gpus: None leaves it to Ray, which finds other makers' cards too.
    """

    num_gpus: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [] if self.num_gpus is None else [f"GPU={self.num_gpus}"]
        parts += [f"{name}={value}" for name, value in self.resources.items()]
        parts += [f"label {name}={value}" for name, value in self.labels.items()]
        return ", ".join(parts) or "what Ray finds"


def measure_cards(
    read: Callable[[], Measured] = read_cards, environment: Mapping[str, str] = os.environ
) -> Cards:
    """The cards a process of this environment may use; none without a driver, or with a broken one.

    CUDA_VISIBLE_DEVICES is read as CUDA does: indices and UUIDs, up to the first that names no card. A card
    in MIG mode counts as one of its smallest slice, since a process sees one slice only.
    """
    measured = read()
    chosen, by_index = _visible(measured.cards, environment.get("CUDA_VISIBLE_DEVICES"))
    usable = [card for card in chosen if card.usable_mib > 0]
    notes = list(measured.notes)
    if any(card.is_split for card in usable):
        notes.append("a card in MIG mode counts as one of its smallest slice")
    # By default CUDA counts the fastest card first and NVML the first slot: an index may mean another card.
    ambiguous = by_index and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID"
    sizes = [card.usable_mib for card in (measured.cards if ambiguous else usable) if card.usable_mib > 0]
    if usable and len(set(sizes)) > 1:
        listed = ", ".join(str(size) for size in sorted(set(sizes)))
        notes.append(f"the cards differ ({listed} MiB); each counts as the smallest")
    return Cards(
        count=len(usable),
        mib=min(sizes) if usable else 0,
        names=tuple(card.name for card in usable),
        notes=tuple(notes),
    )


def fake_cards(sizes: Sequence[str]) -> Cards:
    """Cards that are not there, for trials: one of each size.

    Raises:
        BadRequest: naming a size that is none.
    """
    mib = [parse_mib(size) for size in sizes]
    return Cards(
        count=len(mib),
        mib=min(mib, default=0),
        names=("fake card",) * len(mib),
        fake=True,
        notes=("the cards differ; each counts as the smallest",) if len(set(mib)) > 1 else (),
    )


def parse_mib(text: str) -> int:
    """`12GiB`, `24GB` or `12288MiB` in whole MiB, rounded down.

    Raises:
        BadRequest: naming the text.
    """
    match = _SIZE.fullmatch(text.strip())
    mib = int(Decimal(match[1]) * _UNIT_BYTES[match[2].lower()] / 1024**2) if match else 0
    if not 1 <= mib <= _MIB_MAX:
        raise BadRequest(
            f"{text!r} is not a size of a card: it is a number and GiB, GB, MiB or MB.",
            hint="Write it as 12GiB, 24GB or 12288MiB.",
        )
    return mib


def advertise(cards: Cards, num_gpus: int | None = None) -> Advertised:
    """What to tell Ray of these cards; `num_gpus` overrides how many there are, never their memory."""
    count = num_gpus if num_gpus is not None else (cards.count or None)
    with_memory = min(count or 0, cards.count)
    if with_memory == 0:
        return Advertised(num_gpus=count)
    return Advertised(
        num_gpus=count,
        labels={VRAM: str(cards.mib)},
        resources={VRAM: with_memory * cards.mib},
    )


def cards_environment(cards: Cards, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`inherited` for a Ray that offers these cards; for invented ones nothing of real ones is said."""
    return {
        name: value
        for name, value in inherited.items()
        if not (cards.fake and name == "CUDA_VISIBLE_DEVICES")
    }


def _visible(cards: Sequence[Card], text: str | None) -> tuple[list[Card], bool]:
    """The cards that CUDA_VISIBLE_DEVICES leaves, and whether it names them by index."""
    if text is None:
        return list(cards), False
    chosen: list[Card] = []
    by_index = False
    for entry in (part.strip() for part in text.split(",")):
        card = _find(cards, entry)
        if card is None or card in chosen:
            break
        by_index = by_index or entry.isdigit()
        chosen.append(card)
    return chosen, by_index


def _find(cards: Sequence[Card], entry: str) -> Card | None:
    if entry.isascii() and entry.isdigit() and len(entry) < 9:
        return cards[int(entry)] if int(entry) < len(cards) else None
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    known = [*cards, *(part for card in cards for part in card.slices)]
    found = [card for card in known if card.uuid.startswith(entry)]
    return found[0] if len(found) == 1 else None
