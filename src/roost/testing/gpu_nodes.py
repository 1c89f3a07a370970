"""Nodes with cards, as Ray would list them."""

from __future__ import annotations

from roost.contracts.info import NodeInfo

GIB = 1024**3


def gpu_node(
    name: str,
    *,
    cards: int = 0,
    card_mib: int = 0,
    label: str | None = None,
    cpus: float = 16,
    ram_gib: float = 64,
    alive: bool = True,
    shares: tuple[float, ...] = (),
    **used: float,
) -> NodeInfo:
    """A node as `roost node` starts one; `shares` are its actors' GPUs, `used` what else they hold.

    Args:
        label: `vram_mib`, where it is not the size of a card; empty for none.
    """
    resources = {"CPU": float(cpus), "memory": float(ram_gib * GIB)}
    if cards:
        resources |= {"GPU": float(cards), "vram_mib": float(cards * card_mib)}
    text = str(card_mib) if label is None and cards else label
    held = {**used, **({"GPU": sum(shares)} if shares else {})}
    return NodeInfo(
        node_id=f"id-{name}",
        name=name,
        ip="10.0.0.1",
        alive=alive,
        labels={"vram_mib": text} if text else {},
        resources=resources,
        used=held,
        used_gpu_shares=list(shares),
    )
