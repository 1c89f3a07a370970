"""NVIDIA's management library: the cards of this machine, as it lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Card:
    """One card, or one slice of a card in MIG mode.

    Attributes:
        is_split: In MIG mode: CUDA gives a process one of its slices, never the whole.
    """

    uuid: str
    name: str
    mib: int
    is_split: bool = False
    slices: tuple[Card, ...] = ()

    @property
    def usable_mib(self) -> int:
        """What a process surely gets of it; 0 of a split card without slices."""
        return min((part.mib for part in self.slices), default=0) if self.is_split else self.mib


@dataclass(frozen=True, slots=True)
class Measured:
    """Cards in the library's order, and what went wrong on the way."""

    cards: tuple[Card, ...] = ()
    notes: tuple[str, ...] = ()


def load_nvml() -> Any:
    """The module `pynvml` (distribution nvidia-ml-py)."""
    return import_module("pynvml")


def read_cards(load: Callable[[], Any] = load_nvml) -> Measured:
    """All cards of the machine. What cannot be read is left out and noted; nothing is raised."""
    try:
        nvml = load()
    except ImportError:
        return Measured(notes=("nvidia-ml-py is not installed",))
    try:
        nvml.nvmlInit()
    except _failures(nvml) as error:
        return Measured(notes=(f"no NVIDIA driver ({_said(error)})",))
    try:
        return _read_all(nvml)
    except _failures(nvml) as error:
        return Measured(notes=(f"NVML cannot list the cards ({_said(error)})",))
    finally:
        _shut_down(nvml)


def _read_all(nvml: Any) -> Measured:
    cards, notes = [], []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            cards.append(_read_card(nvml, nvml.nvmlDeviceGetHandleByIndex(index)))
        except _failures(nvml) as error:
            notes.append(f"card {index} cannot be read ({_said(error)})")
    return Measured(tuple(cards), tuple(notes))


def _read_card(nvml: Any, handle: Any) -> Card:
    is_split = _is_split(nvml, handle)
    return Card(
        uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        name=_text(nvml.nvmlDeviceGetName(handle)),
        mib=int(nvml.nvmlDeviceGetMemoryInfo(handle).total) // _MIB,
        is_split=is_split,
        slices=tuple(_read_slices(nvml, handle)) if is_split else (),
    )


def _read_slices(nvml: Any, handle: Any) -> list[Card]:
    slices = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            part = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            mib = int(nvml.nvmlDeviceGetMemoryInfo(part).total) // _MIB
            slices.append(Card(_text(nvml.nvmlDeviceGetUUID(part)), _text(nvml.nvmlDeviceGetName(part)), mib))
        except _failures(nvml):
            continue  # no slice was made at this index
    return slices


def _is_split(nvml: Any, handle: Any) -> bool:
    try:
        current, _pending = nvml.nvmlDeviceGetMigMode(handle)
    except _failures(nvml):
        return False  # a card that knows no MIG
    return bool(current)


def _shut_down(nvml: Any) -> None:
    try:
        nvml.nvmlShutdown()
    except _failures(nvml):
        return


def _failures(nvml: Any) -> tuple[type[Exception], ...]:
    """What a call of the library may raise: its own error, and those of an old or broken one."""
    own = getattr(nvml, "NVMLError", None)
    known: tuple[type[Exception], ...] = (OSError, AttributeError, ValueError, TypeError, RuntimeError)
    return (*known, own) if isinstance(own, type) and issubclass(own, Exception) else known


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
