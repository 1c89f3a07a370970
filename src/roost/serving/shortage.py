"""How a lack of room is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost.contracts.info import NodeInfo
from roost.serving.feasible import label, number
from roost.serving.occupancy import Holder
from roost.serving.room import could_fit, free_of, resources_of
from roost.serving.tiers import VRAM

BESIDE: Final = (
    "The replicas of the version before go on serving; rollout='in_place' would replace them, with a gap."
)

_NONE_ALIVE: Final = "no node is alive."
_NONE_SO_LARGE: Final = "no node has that much, also when empty."

_GIB: Final = 1024**3
_UNITS: Final = {"CPU": "CPUs", "GPU": "GPUs", "memory": "GiB of memory", VRAM: "MiB of GPU memory"}
_SHOWN: Final = 3


def shortage(options: Mapping[str, Any], nodes: Sequence[NodeInfo], *, made_on: str = "") -> str:
    """Why a replica with these actor options waits; `made_on` names the node where it will get room."""
    needed = resources_of(options)
    wants = f"Waits for room: one replica needs {_amounts(needed)}"
    if made_on:
        return f"{wants}; it is being made on {made_on!r}."
    able = [node for node in nodes if could_fit(options, node)]
    if not nodes:
        return f"{wants}; {_NONE_ALIVE}"
    if not able:
        return f"{wants}; {_NONE_SO_LARGE}"
    largest = min(able, key=lambda node: _missing(needed, node))
    return (
        f"{wants}; no node has it free (largest: {label(largest)!r} with {_amounts(_free(needed, largest))})."
    )


def waits_for_a_node(message: str) -> bool:
    """Whether a message of `shortage` says that only another node would help: no pause makes that room."""
    return _NONE_ALIVE in message or _NONE_SO_LARGE in message


def in_the_way(holders: Sequence[Holder]) -> str:
    """Who holds room and why it is not paused, to go after `shortage`; empty when nobody is known."""
    if not holders:
        return ""
    hindered = [holder for holder in holders if holder.obstacle]
    reasons = [f"{holder.key!r} {holder.obstacle}" for holder in hindered[:_SHOWN]]
    if len(hindered) > _SHOWN:
        reasons.append(f"{len(hindered) - _SHOWN} more")
    if not reasons:
        return " Pausing idle models would not make room."
    return f" Pausing idle models would not make room: {', '.join(reasons)}."


def _free(needed: Mapping[str, float], node: NodeInfo) -> dict[str, float]:
    return {name: max(0.0, free_of(node, name)) for name in needed}


def _missing(needed: Mapping[str, float], node: NodeInfo) -> float:
    """How much is missing, each resource as a share of what is needed."""
    free = _free(needed, node)
    return sum(max(0.0, amount - free[name]) / amount for name, amount in needed.items())


def _amounts(amounts: Mapping[str, float]) -> str:
    return ", ".join(_amount(name, amount) for name, amount in amounts.items()) or "nothing"


def _amount(name: str, amount: float) -> str:
    return f"{number(amount / _GIB if name == 'memory' else amount)} {_UNITS.get(name, name)}"
