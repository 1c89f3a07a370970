"""Whatever is deployed wherever, as Ray packs it no card holds more than it has."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import Infeasible
from roost.serving.feasible import check_feasible
from roost.serving.placement import actor_options, could_fit, fits_now
from roost.testing.gpu_nodes import gpu_node

CPUS = 0.1


@dataclass
class Card:
    """One card as it is: Ray sees only the units, in 1/10000."""

    size_mib: int
    free_units: int = 10_000
    used_mib: int = 0
    models: int = 0


@dataclass
class Machine:
    """One node as Ray keeps its accounts."""

    node: NodeInfo
    cards: list[Card]
    shares: list[float] = field(default_factory=list)
    used: dict[str, float] = field(default_factory=dict)

    def seen(self) -> NodeInfo:
        return self.node.model_copy(update={"used": dict(self.used), "used_gpu_shares": list(self.shares)})

    def take(self, options: dict[str, Any], mib_per_card: int, any_card: random.Random | None) -> bool:
        """As Ray does; with `any_card` on any card that has room, as after much coming and going."""
        units, sum_mib = round(options.get("num_gpus", 0) * 10_000), options["resources"]["vram_mib"]
        free_mib = self.node.resources.get("vram_mib", 0.0) - self.used.get("vram_mib", 0.0)
        count, share = (1, units) if units < 10_000 else (units // 10_000, 10_000)
        roomy = sorted((card for card in self.cards if card.free_units >= share), key=lambda c: c.free_units)
        if free_mib < sum_mib or len(roomy) < count:
            return False
        if any_card is not None:
            any_card.shuffle(roomy)
        for card in roomy[:count]:
            card.free_units -= share
            card.used_mib += mib_per_card
            card.models += 1
        self.shares.append(units / 10_000)
        for name, amount in (("vram_mib", sum_mib), ("GPU", units / 10_000), ("CPU", CPUS)):
            self.used[name] = self.used.get(name, 0.0) + amount
        return True


def start(
    options: dict[str, Any], mib: int, machines: list[Machine], any_card: random.Random | None
) -> Machine | None:
    """Ray tries the selectors in order, and per selector the nodes that match."""
    for tier in [options, *options.get("fallback_strategy", [])]:
        wanted = tier["label_selector"]
        for machine in machines:
            labels = machine.node.labels
            if all(labels.get(name) == value for name, value in wanted.items()) and machine.take(
                options, mib, any_card
            ):
                return machine
    return None


clusters = st.lists(
    st.tuples(st.sampled_from([8192, 12288, 24564, 24576, 81920]), st.integers(1, 4)), min_size=1, max_size=4
)
models = st.lists(
    st.tuples(
        st.one_of(st.floats(0.001, 1.0), st.sampled_from([0.5, 0.25, 1 / 3, 1, 2, 3, 4])),
        st.floats(0.001, 90.0),
    ),
    min_size=1,
    max_size=25,
)


def machines_of(cluster: list[tuple[int, int]]) -> list[Machine]:
    return [
        Machine(gpu_node(f"n{n}", cards=count, card_mib=mib), [Card(mib) for _ in range(count)])
        for n, (mib, count) in enumerate(cluster)
    ]


@given(clusters, models, st.randoms(use_true_random=False), st.booleans())
def test_no_card_is_oversold(
    cluster: list[tuple[int, int]],
    wanted: list[tuple[float, float]],
    chance: random.Random,
    reordered: bool,
) -> None:
    machines = machines_of(cluster)
    nodes = [machine.node for machine in machines]
    for num_gpus, vram_gb in wanted:
        requirements = (
            ModelRequirements(num_gpus=num_gpus, vram_gb=vram_gb)
            if num_gpus <= 1
            else (ModelRequirements(num_gpus=int(num_gpus), vram_gb=vram_gb))
        )
        try:
            check_feasible(requirements, CPUS, nodes)
        except Infeasible:
            assert "label_selector" not in actor_options(requirements, CPUS, nodes)
            continue
        options = actor_options(requirements, CPUS, nodes)
        total = options["resources"]["vram_mib"]
        start(options, -(-total // max(1, int(num_gpus))), machines, chance if reordered else None)
        for machine in machines:
            for card in machine.cards:
                # Ray's own grain: a third of a card counts as 0.3333 of it, so that three share it.
                assert card.used_mib <= card.size_mib * (1 + card.models / 10_000)


@given(clusters, models)
def test_where_replicas_are_alike_what_fits_now_is_what_ray_does(
    cluster: list[tuple[int, int]], wanted: list[tuple[float, float]]
) -> None:
    num_gpus, vram_gb = wanted[0]
    requirements = ModelRequirements(num_gpus=num_gpus, vram_gb=vram_gb)
    machines = machines_of(cluster)
    options = actor_options(requirements, CPUS, [machine.node for machine in machines])
    if "label_selector" not in options:
        return
    per_card = -(-options["resources"]["vram_mib"] // max(1, int(num_gpus)))
    for _ in range(20):
        fitting = {machine.node.node_id for machine in machines if fits_now(options, machine.seen())}
        started = start(options, per_card, machines, None)
        assert (started is None) == (not fitting)
        if started is not None:
            assert started.node.node_id in fitting


@pytest.mark.parametrize("num_gpus", [0.1, 0.5, 1])
def test_a_card_that_joins_later_is_not_oversold_either(num_gpus: float) -> None:
    requirements = ModelRequirements(num_gpus=num_gpus, vram_gb=8000 / 1024)
    options = actor_options(requirements, CPUS, [gpu_node("n", cards=1, card_mib=12288)])
    late = machines_of([(12288, 2), (8192, 1), (24576, 1)])
    started = [start(options, 8000, late, None) for _ in range(5)]
    assert [machine and machine.node.name for machine in started] == ["n0", "n0", None, None, None]
    assert [card.used_mib for card in late[0].cards] == [8000, 8000]
    assert not could_fit(options, late[2].node)
