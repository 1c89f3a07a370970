from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from roost.engine.nvml import Card, Measured, read_cards

MIB = 1024**2


class NvmlError(Exception):
    """As `pynvml.NVMLError`."""


class FakeNvml:
    """The calls of `pynvml` that are used, over plain dictionaries."""

    NVMLError = NvmlError

    def __init__(self, *cards: dict[str, Any], driver: bool = True) -> None:
        self._cards = cards
        self._driver = driver
        self.is_open = False

    def nvmlInit(self) -> None:
        if not self._driver:
            raise NvmlError("Driver Not Loaded")
        self.is_open = True

    def nvmlShutdown(self) -> None:
        self.is_open = False

    def nvmlDeviceGetCount(self) -> int:
        return len(self._cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:
        card = self._cards[index]
        if "lost" in card:
            raise NvmlError("GPU is lost")
        return card

    def nvmlDeviceGetUUID(self, card: dict[str, Any]) -> str:
        return str(card["uuid"])

    def nvmlDeviceGetName(self, card: dict[str, Any]) -> bytes:
        return b"RTX"

    def nvmlDeviceGetMemoryInfo(self, card: dict[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(total=card["mib"] * MIB + 5)

    def nvmlDeviceGetMigMode(self, card: dict[str, Any]) -> list[int]:
        if "slices" not in card:
            raise NvmlError("Not Supported")
        return [card.get("mig", 1), 0]

    def nvmlDeviceGetMaxMigDeviceCount(self, card: dict[str, Any]) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card: dict[str, Any], index: int) -> dict[str, Any]:
        if index >= len(card["slices"]):
            raise NvmlError("Not Found")
        part: dict[str, Any] = card["slices"][index]
        return part


def test_cards_are_read_and_the_library_is_closed() -> None:
    nvml = FakeNvml({"uuid": "GPU-1", "mib": 24_564}, {"uuid": "GPU-2", "mib": 12_288})
    assert read_cards(lambda: nvml) == Measured((Card("GPU-1", "RTX", 24_564), Card("GPU-2", "RTX", 12_288)))
    assert not nvml.is_open


def test_slices_are_read_of_a_card_in_mig_mode_only() -> None:
    slices = [{"uuid": "MIG-1", "mib": 9_728}]
    nvml = FakeNvml(
        {"uuid": "GPU-1", "mib": 81_920, "slices": slices},
        {"uuid": "GPU-2", "mib": 81_920, "slices": slices, "mig": 0},
    )
    split, whole = read_cards(lambda: nvml).cards
    assert (split.is_split, split.slices) == (True, (Card("MIG-1", "RTX", 9_728),))
    assert (split.usable_mib, whole.usable_mib) == (9_728, 81_920)


def test_a_card_that_cannot_be_read_is_left_out_and_noted() -> None:
    measured = read_cards(lambda: FakeNvml({"lost": True}, {"uuid": "GPU-2", "mib": 12_288}))
    assert [card.uuid for card in measured.cards] == ["GPU-2"]
    assert measured.notes == ("card 0 cannot be read (GPU is lost)",)


@pytest.mark.parametrize(
    ("nvml", "note"),
    [
        (FakeNvml(driver=False), "no NVIDIA driver (Driver Not Loaded)"),
        (SimpleNamespace(), "no NVIDIA driver ("),
        (SimpleNamespace(nvmlInit=lambda: None), "NVML cannot list the cards ("),
    ],
)
def test_a_missing_driver_or_a_broken_library_is_no_card_and_no_error(nvml: Any, note: str) -> None:
    measured = read_cards(lambda: nvml)
    assert measured.cards == ()
    assert measured.notes[0].startswith(note)


def test_a_missing_package_is_said() -> None:
    def load() -> Any:
        raise ModuleNotFoundError("pynvml")

    assert read_cards(load) == Measured(notes=("nvidia-ml-py is not installed",))
